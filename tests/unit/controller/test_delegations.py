"""Delegated ranges, seen from the controller: the owner of each block, and the handling of an agent's report."""

import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from controller.core.blocks import SIZE
from controller.core.clock import now
from controller.db import blocks
from controller.leases import delegations as work
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.fake_agent import FakeAgent


def mac(number: int) -> str:
    return f"02:00:5e:00:{number >> 8:02x}:{number & 255:02x}"


class Ledger:
    """An agent's side of the exchange, which decides nothing by itself."""

    def __init__(self, agent: FakeAgent, endpoint: str = "c1-lan") -> None:
        self.agent, self.endpoint = agent, endpoint
        self.incarnation = secrets.token_hex(16)
        self.turn = self.version = self.acked = 0
        self.blocks: list[int] = []

    async def ask(self, **body: Any) -> httpx.Response:
        self.turn += 1
        whole = {"endpoint": self.endpoint, "incarnation": self.incarnation, "turn": self.turn, "acked": self.acked}
        path = "/api/v1/agent/leases/exchange"
        return await self.agent.http.post(path, json=whole | body, headers=self.agent.headers)

    async def say(self, **body: Any) -> Any:
        answer = await self.ask(**body)
        assert answer.status_code == 200, answer.text
        said = answer.json()
        self.acked = said["acked"]
        self.blocks += [block["number"] for block in said["blocks"]]
        return said

    def entry(self, number: int, client: int, kind: str = "md", left: int = 600, **more: Any) -> dict[str, Any]:
        self.version += 1
        return {"version": self.version, "number": number, "kind": kind, "mac": mac(client), "left": left} | more


@pytest.fixture
async def ledger(controller: Controller) -> Ledger:
    return Ledger(await controller.agent("c1", 1))


async def held(controller: Controller) -> dict[str, str]:
    return {lease["address"]: lease["device"] for lease in (await controller.get("/leases"))["items"]}


async def test_blocks_are_given_once_and_named_again_until_they_are_known(ledger: Ledger) -> None:
    first = await ledger.say(blocks=[], want=2)
    assert [(b["number"], b["first"], b["pairs"]) for b in first["blocks"]] == [(0, 0, 8), (1, 8, 8)]
    again = await ledger.say(blocks=[], want=2)
    assert again["blocks"] == first["blocks"], "the answer was lost"
    more = await ledger.say(blocks=[0, 1], want=1)
    assert [block["number"] for block in more["blocks"]] == [2]
    rest = await ledger.say(blocks=[0, 1, 2], want=100)
    assert [block["number"] for block in rest["blocks"]] == list(range(3, 15)), "the last one is the controller's own"
    assert (await ledger.say(blocks=list(range(15)), want=1))["blocks"] == []


async def test_an_account_becomes_leases_pairs_and_devices(controller: Controller, ledger: Ledger) -> None:
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    await ledger.say(blocks=[], want=1)
    entries = [ledger.entry(0, 1), ledger.entry(0, 2, "vm"), ledger.entry(1, 9, hostname="phone")]
    said = await ledger.say(entries=entries)
    assert said["acked"] == 3
    assert await held(controller) == {"10.1.0.2": "m1", "10.1.0.3": "m1", "10.1.0.4": "dev-02005e000009"}
    assert {known["device"]: known["number"] for known in said["known"]} == {"m1": 0}
    (lease,) = [lease for lease in (await controller.get("/leases"))["items"] if lease["hostname"]]
    await ledger.say(entries=[ledger.entry(1, 9, hostname="phone", device="dev-02005e000009", left=900)])
    renewed = await controller.get(f"/leases/{lease['id']}")
    assert renewed["expires_at"] > lease["expires_at"] and renewed["granted_at"] == lease["granted_at"]
    await ledger.say(entries=[ledger.entry(1, 9, left=0)])
    assert set(await held(controller)) == {"10.1.0.2", "10.1.0.3"}
    types = [event["type"] for event in (await controller.get("/events"))["items"] if event["type"].startswith("lease")]
    assert sorted(types) == ["lease-granted"] * 3 + ["lease-released"]


async def test_what_begins_or_ends_a_lease_wakes_the_followers_and_a_renewal_does_not(
    controller: Controller, ledger: Ledger
) -> None:
    await ledger.say(blocks=[], want=1)
    declined = {"number": 1, "kind": "md", "mac": mac(2), "left": 3600, "whole": True}
    accounts: list[tuple[bool, dict[str, Any]]] = [
        (True, {"entries": [ledger.entry(0, 1), ledger.entry(1, 2)]}),
        (False, {"entries": [ledger.entry(0, 1, device="dev-02005e000001", left=900)]}),
        (True, {"entries": [ledger.entry(0, 1, left=0)]}),
        (True, {"declined": [declined]}),
        (False, {}),
    ]
    for wakes, account in accounts:
        with controller.region.runtime.wakeup.listen() as woken:
            await ledger.say(**account)
            assert woken.is_set() is wakes, account


async def test_an_account_sent_twice_changes_nothing_and_a_late_one_is_refused(
    controller: Controller, ledger: Ledger
) -> None:
    await ledger.say(blocks=[], want=1)
    entry = ledger.entry(0, 1)
    ledger.acked = 0
    await ledger.say(entries=[entry])
    ledger.acked = 0
    assert (await ledger.say(entries=[entry]))["acked"] == 1
    assert len(await held(controller)) == 1
    ledger.turn -= 2
    problem(await ledger.ask(entries=[ledger.entry(0, 1, left=0)]), 409, None, "comes after exchange")
    assert len(await held(controller)) == 1


async def test_who_is_asked_about_is_told_and_a_pair_of_the_controllers_is_lent(
    controller: Controller, ledger: Ledger
) -> None:
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"client_id": "01bb"}})
    await ledger.say(blocks=[], want=1)
    asked = [{"mac": mac(7), "client_id": "01bb"}, {"mac": mac(8)}]
    (known,) = (await ledger.say(ask=asked))["known"]
    assert known == {
        "device": "m1",
        "number": None,
        "md": {"mac": mac(1), "client_id": None},
        "vm": {"mac": None, "client_id": "01bb"},
        "md_left": 0,
        "vm_left": 0,
    }
    granted = await controller.post("/leases", {"endpoint": "c1-lan", "device": "m1", "kind": "vm"})
    assert granted["address"] == "10.1.0.243", "from what the controller keeps for itself"
    (known,) = (await ledger.say(ask=asked))["known"]
    assert known["number"] == 120 and known["vm_left"] > 3500 and known["md_left"] == 0
    await ledger.say(entries=[ledger.entry(120, 1, device="m1")])
    assert await held(controller) == {"10.1.0.243": "m1", "10.1.0.242": "m1"}


async def test_a_pair_that_cannot_be_the_devices_goes_to_one_without_a_name(
    controller: Controller, ledger: Ledger
) -> None:
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    await ledger.say(blocks=[], want=1)
    await controller.post("/leases", {"endpoint": "c1-lan", "device": "m1", "kind": "md"})
    said = await ledger.say(entries=[ledger.entry(3, 1), ledger.entry(4, 2)])
    table = await held(controller)
    assert table["10.1.0.242"] == "m1", "nothing moves"
    assert table["10.1.0.8"] != "m1" != table["10.1.0.10"] and table["10.1.0.8"] != table["10.1.0.10"]
    assert [(known["device"], known["number"]) for known in said["known"]] == [("m1", 120)]


async def test_pairs_are_forgotten_unless_they_are_leased(controller: Controller, ledger: Ledger) -> None:
    await ledger.say(blocks=[], want=1)
    await ledger.say(entries=[ledger.entry(0, 1), ledger.entry(1, 2, left=0), ledger.entry(2, 3)])
    await ledger.say(entries=[ledger.entry(2, 3, left=0)])
    assert (await ledger.say(forget=[0, 1, 2]))["forgotten"] == [1, 2]
    assert [device["name"] for device in (await controller.get("/devices"))["items"]] == ["dev-02005e000001"]


async def test_blocks_come_back(controller: Controller, ledger: Ledger) -> None:
    await ledger.say(blocks=[], want=3)
    await ledger.say(entries=[ledger.entry(8, 1, left=0), ledger.entry(9, 2)])
    await ledger.say(blocks=[0], give_back=[1, 2])
    async with controller.region.database.read() as session:
        assert await blocks.of(session, "c1-lan", blocks.OWN) == {1}, "somebody has a pair there"
    again = await ledger.say(blocks=[0], want=3)
    assert [block["number"] for block in again["blocks"]] == [2, 3, 4]
    everything = await ledger.say(blocks=[0, 2, 3, 4], want=100)
    assert 1 in [block["number"] for block in everything["blocks"]], "with what is in it"
    assert [known["number"] for known in everything["known"]] == [9]


@pytest.fixture
def resting(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[None]]:
    """A function that advances the wall clock and the monotonic clock independently."""

    async def rest(counted: float, wall: float) -> None:
        delegations = controller.region.leases.delegations
        with monkeypatch.context() as patch:
            ahead = delegations._ticked + counted
            patch.setattr(delegations, "_clock", lambda: ahead)
            patch.setattr(work, "now", lambda: now() + timedelta(seconds=wall))
            await delegations.rest()

    return rest


async def test_an_agent_that_lost_its_memory_gets_other_blocks_and_is_told_of_its_clients(
    controller: Controller, ledger: Ledger, resting: Callable[..., Awaitable[None]]
) -> None:
    await ledger.say(blocks=[], want=2)
    await ledger.say(entries=[ledger.entry(5, 1)])
    after = Ledger(ledger.agent)
    said = await after.say(blocks=[], want=2)
    assert after.blocks == [2, 3]
    assert [(known["device"], known["number"]) for known in said["known"]] == [("dev-02005e000001", 5)]
    await after.say(entries=[after.entry(5, 1, device="dev-02005e000001", left=900)])
    assert list(await held(controller)) == ["10.1.0.12"]
    assert (await ledger.ask(entries=[ledger.entry(5, 9)])).json()["anew"], "the former memory counts no longer"
    everything = list(range(2, 15))
    await after.say(blocks=[2, 3], want=100)
    for counted, wall in ((3700, 0), (0, 3700)):
        assert (await after.say(blocks=everything, want=1))["blocks"] == []
        await resting(counted, wall)
    assert [block["number"] for block in (await after.say(blocks=everything, want=9))["blocks"]] == [0, 1]
    assert list(await held(controller)) == ["10.1.0.12"]


async def test_a_database_that_is_an_older_copy_learns_what_the_agent_has(
    controller: Controller, ledger: Ledger
) -> None:
    other = Ledger(ledger.agent)
    other.acked, other.blocks = 7, [3]
    assert (await other.say(blocks=[3]))["resync"]
    problem(await controller.http.get("/api/v1/leases/1"), 404)
    other.acked = 0
    entries = [other.entry(24, 1), other.entry(25, 2), other.entry(0, 3)]
    await other.say(blocks=[3], entries=entries)
    assert set(await held(controller)) == {"10.1.0.50", "10.1.0.52", "10.1.0.2"}
    async with controller.region.database.read() as session:
        assert await blocks.of(session, "c1-lan", 1) == {3}
    await other.say(entries=[other.entry(24, 9)])
    assert (await held(controller))["10.1.0.50"] == "dev-02005e000009", "who has an address is the agent's to say"
    await other.say(entries=[other.entry(24, 7, sure=False)])
    assert (await held(controller))["10.1.0.50"] == "dev-02005e000009", "unless it is not sure"


async def test_the_policy_withholds_pairs_and_keeps_reservations(controller: Controller, ledger: Ledger) -> None:
    from dataclasses import replace

    from controller.core.policy.model import Addresses, LanPlan, Rules

    lan = LanPlan(900, {"m1": "10.1.0.10", "m2": "10.1.0.242"}, (("10.1.0.2", "10.1.0.17"), ("10.1.0.20", "10.1.0.21")))
    changes = controller.region.changes.flow
    changes.intent = replace(changes.intent, policy=Rules(addresses=Addresses(None, {"c1-lan": lan})))
    for number in (1, 2):
        await controller.post("/devices", {"name": f"m{number}", "mac": mac(number)})
    said = await ledger.say(blocks=[], want=1, ask=[{"mac": mac(1)}, {"mac": mac(2)}])
    assert (said["lease_seconds"], said["without"]) == (900, [[0, 7], [4, 4], [9, 9], [120, 120]])
    assert [block["number"] for block in said["blocks"]] == [1], "there is nothing in block 0 for anybody"
    assert {known["device"]: known["number"] for known in said["known"]} == {"m1": 4, "m2": 120}
    granted = await controller.post("/leases", {"endpoint": "c1-lan", "device": "m2", "kind": "md"})
    assert granted["address"] == "10.1.0.242"


async def test_a_device_that_goes_leaves_no_address_free_that_may_be_in_use(
    controller: Controller, ledger: Ledger
) -> None:
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await ledger.say(blocks=[], want=1)
    granted = await controller.post("/leases", {"endpoint": "c1-lan", "device": "m1", "kind": "md"})
    await ledger.say(ask=[{"mac": mac(1)}])
    await controller.delete(f"/leases/{granted['id']}", 204)
    await controller.delete("/devices/m1", 204)
    await controller.post("/devices", {"name": "m2", "mac": mac(2)})
    other = await controller.post("/leases", {"endpoint": "c1-lan", "device": "m2", "kind": "md"})
    assert other["address"] == "10.1.0.244" != granted["address"]


async def test_nothing_is_granted_here_before_the_agent_was_heard(controller: Controller, ledger: Ledger) -> None:
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await ledger.say(blocks=[], want=1)
    controller.region.leases.leases.heard.clear()  # as after a start
    body = {"endpoint": "c1-lan", "device": "m1", "kind": "md"}
    await controller.refused(409, "/leases", body, "endpoint", "has not yet said which addresses it gave out")
    await ledger.say()
    await controller.post("/leases", body)


async def test_an_agent_of_a_former_release_is_answered_and_ends_the_delegation(
    controller: Controller, ledger: Ledger
) -> None:
    await ledger.say(blocks=[], want=1)
    await ledger.say(entries=[ledger.entry(0, 1)])
    renewed = (await ledger.agent.lease(endpoint="c1-lan", mac=mac(1))).json()
    fresh = (await ledger.agent.lease(endpoint="c1-lan", mac=mac(2))).json()
    assert (renewed["address"], fresh["address"]) == ("10.1.0.2", "10.1.0.242")
    assert (await ledger.ask()).json()["anew"]


async def test_what_is_no_part_of_the_plan_is_refused(ledger: Ledger) -> None:
    await ledger.say(blocks=[], want=1)
    problem(await ledger.ask(entries=[ledger.entry(126, 1)]), 422, "entries", "has pairs 0 to 125, not 126")
    problem(await ledger.ask(blocks=[16]), 422, "blocks", "has blocks 0 to 15")
    problem(await ledger.ask(endpoint="c2-lan"), 422, "endpoint", "c1 has no endpoint 'c2-lan'")
    problem(await ledger.ask(entries=[{"version": 1, "number": 0, "kind": "md", "left": 1}]), 422)
    assert SIZE == 8


async def test_they_are_listed_in_pages_and_those_that_rest_say_so(controller: Controller, ledger: Ledger) -> None:
    await ledger.say(blocks=[], want=1)
    lost = Ledger(ledger.agent)
    await lost.say(blocks=[], want=1)
    first = await controller.get("/delegations", limit=1)
    second = await controller.get("/delegations", limit=1, cursor=first["next"])
    (old,), (new,) = first["items"], second["items"]
    assert second["next"] is None
    assert (old["incarnation"], new["incarnation"]) == (ledger.incarnation, lost.incarnation)
    assert old["rests_until"] is not None and new["rests_until"] is None
    assert new["blocks"] == len(set(lost.blocks)) > 0 and new["pairs"] == new["blocks"] * SIZE
    await controller.cloudlet("c9", 9)
    assert (await controller.get("/delegations", endpoint="c9-lan"))["items"] == []
    assert (await controller.http.get("/api/v1/delegations?cursor=eA==")).status_code == 422
