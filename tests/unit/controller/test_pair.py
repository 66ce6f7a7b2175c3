"""The controller and its pair of route servers: which one is right if they disagree, and the messages in the API."""

import asyncio
from typing import Any

import pytest

from controller.core.restored import claim, given_back
from controller.core.rulesets import rule_set
from controller.routeservers import in_step
from controller.runtime import event_log
from controller.wire.rulesets import Endpoint, Peer, RuleSet, Vcp
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.copies import Copies
from tests.unit.controller.fake_routeserver import FakeRouteServer, fake_route_server

pytestmark = pytest.mark.slow


async def error(controller: Controller, server: int) -> str:
    found = (await controller.get("/route-servers"))["items"][server]
    assert not found["in_step"]
    return str(found["error"])


async def texts(controller: Controller, kind: str, *, some: bool = True) -> list[str]:
    """Return the texts of events of a kind; wait until there are some if `some`."""
    await asyncio.sleep(4 * event_log.PAUSE)  # events are stored in batches
    async with asyncio.timeout(5):
        while True:
            items = (await controller.get("/events", limit=1000))["items"]
            found = [e["text"] for e in items if e["type"] == kind]
            if found or not some:
                return found
            await asyncio.sleep(event_log.PAUSE)


async def left_since_the_copy(start: Start, one: FakeRouteServer, two: FakeRouteServer, copies: Copies) -> None:
    """Restore the database to the time when c1 and c2 shared a pool. rs1 knows that c2 has left; rs2 was away then."""
    async with start(one, two) as controller:
        await controller.post("/vcps", {"name": "blue"})
        for number in (1, 2):
            await controller.cloudlet(f"c{number}", number)
            await controller.post("/vcps/blue/members", {"endpoint": f"c{number}-lan"})
        together = two.rules
    await copies.keep()
    async with start(one, two) as controller:
        await controller.delete("/vcps/blue/members/c2-lan")
        assert one.rules.vcps[0].members == ["c1-lan"]
    await copies.put_back()
    two.rules = together.model_copy(update={"generation": together.generation - 1})
    two.confirmed = False
    one.log.clear()
    two.log.clear()


async def test_a_restored_database_gives_nothing_back(start: Start, copies: Copies) -> None:
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two:
        await left_since_the_copy(start, one, two, copies)
        async with start(one, two, held=True) as controller:
            servers = controller.region.route_servers.syncs
            await eventually(lambda: all("c2-lan in blue" in server.error for server in servers))
            assert "an older copy" in await error(controller, 0)
            assert (await error(controller, 1)).startswith("rs1 is at generation")
            assert len(await texts(controller, "database-behind")) == 1
            for pool in ("green", "red"):
                await controller.post("/vcps", {"name": pool})
            await asyncio.sleep(1.5)  # a round of attempts
            assert controller.region.intent.generation > one.rules.generation
            assert not one.log and not two.log and not two.confirmed, "something was sent meanwhile"
            assert len(await texts(controller, "database-behind")) == 1
        async with start(one, two, held=True) as controller:
            servers = controller.region.route_servers.syncs
            await eventually(lambda: all("c2-lan in blue" in server.error for server in servers))
            assert not one.log and not two.log and not two.confirmed, "something was sent after a restart"

            left = await controller.delete("/vcps/blue/members/c2-lan")
            assert left["unreachable"] == ["rs1", "rs2"] and not left["in_force"]
            await eventually(lambda: all(server.reachable for server in servers))
            assert one.rules == two.rules == rule_set(controller.region.intent, 65000)
            assert one.rules.generation > left["generation"], "agents must not take an old version for the new one"
            assert [vcp.members for vcp in two.rules.vcps if vcp.name == "blue"] == [["c1-lan"]]


async def test_an_operator_may_overtake(start: Start, copies: Copies) -> None:
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two:
        await left_since_the_copy(start, one, two, copies)
        async with start(one, two, held=True) as controller:
            servers = controller.region.route_servers.syncs
            await eventually(lambda: all(server.error.startswith("rs1 is at") for server in servers))
            ahead = one.rules.generation
            done = await controller.post("/route-servers/overtake", status=200)
            assert done == {"route_servers": ["rs1"]}
            await eventually(lambda: all(server.reachable for server in servers))
            assert one.rules == two.rules == rule_set(controller.region.intent, 65000)
            assert one.rules.vcps[0].members == ["c1-lan", "c2-lan"]
            assert one.rules.generation > ahead
            assert len(await texts(controller, "database-behind")) == 1 and await texts(controller, "overtaken")
            again = await controller.http.post("/api/v1/route-servers/overtake")
            assert again.status_code == 409


async def test_what_others_put_in_force_is_noticed(
    controller: Controller, route_server: FakeRouteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_step, "HEARTBEAT", 0.05)
    await controller.cloudlet("c1", 1)
    await eventually(lambda: route_server.rules.generation == controller.region.intent.generation)
    await eventually(lambda: route_server.beats > 3)
    had = route_server.rules
    route_server.rules = had.model_copy(update={"generation": had.generation + 1, "vcps": [Vcp(name="x", members=[])]})
    await eventually(lambda: route_server.rules == rule_set(controller.region.intent, 65000))
    assert route_server.rules.generation == had.generation + 2
    assert await texts(controller, "database-behind")


async def test_a_trial_by_hand_is_let_run_until_there_is_a_change(
    controller: Controller, route_server: FakeRouteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_step, "HEARTBEAT", 0.05)
    await controller.cloudlet("c1", 1)
    await eventually(lambda: route_server.rules.generation == controller.region.intent.generation)
    had = route_server.rules
    route_server.trial = {"confirm_by": "2026-01-01T00:01:00Z", "fallback": had.generation}
    route_server.rules = had.model_copy(update={"generation": had.generation + 1, "endpoints": []})
    server = controller.region.route_servers.syncs[0]
    await eventually(lambda: "on trial" in server.error)
    assert "until 2026-01-01T00:01:00Z" in await error(controller, 0)
    await asyncio.sleep(1.2)  # a round of attempts
    assert not route_server.rules.endpoints
    made = await controller.post("/vcps", {"name": "blue"})
    assert made["name"] == "blue"
    await eventually(lambda: server.reachable)
    assert route_server.rules == rule_set(controller.region.intent, 65000)


async def test_a_heartbeat_that_meets_a_change_is_not_taken_for_a_difference(
    controller: Controller, route_server: FakeRouteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_step, "HEARTBEAT", 0.002)
    await controller.cloudlet("c1", 1)
    await asyncio.gather(*(controller.post("/vcps", {"name": f"p{i}"}) for i in range(30)))
    assert controller.region.route_servers.syncs[0].reachable
    assert not await texts(controller, "route-server-unreachable", some=False)
    assert sum(entry.startswith("put") for entry in route_server.log) <= 1


async def test_a_pe_that_takes_nothing_is_behind(controller: Controller, route_server: FakeRouteServer) -> None:
    for number in (1, 2):
        await controller.agent(f"c{number}", number)
    await controller.post("/vcps", {"name": "blue"})
    for number in (1, 2):
        await controller.post("/vcps/blue/members", {"endpoint": f"c{number}-lan"})
    route_server.behind = ["c1", "c9"]  # c1's kernel agrees; nothing is known of c9
    left = await controller.delete("/vcps/blue/members/c2-lan")
    assert left["behind"] == ["c9"] and not left["in_force"] and not left["unreachable"]


def rules(generation: int, *members: str, **other: Any) -> RuleSet:
    names = ("a", "b", "c")
    peers = [Peer(name=n, address=other.get(n, f"192.0.2.{i}"), asn=65000) for i, n in enumerate(names)]
    lans = [
        Endpoint(name=f"{n}-lan", peer=n, family="l2vpn-vpls", rt=f"65000:{i}", rd=f"65000:{i}")
        for i, n in enumerate(names)
    ]
    return RuleSet(
        generation=generation,
        peers=peers,
        endpoints=lans,
        vcps=[Vcp(name="blue", members=[f"{n}-lan" for n in members])],
    )


def test_what_a_copy_would_give_back() -> None:
    assert not given_back(rules(9, "a", "b", "c"), rules(5, "a", "b"))
    assert not given_back(rules(9), rules(5, "a")), "alone in a pool one sees nobody"
    assert given_back(rules(9, "a", "b"), rules(5, "a", "b", "c")) == ["c-lan in blue"]
    assert given_back(rules(9, "a", "b", b="198.51.100.1"), rules(5, "a", "b")) == ["b-lan in blue"]
    assert claim("rs1", rules(9, "a"), rules(5, "a", "b")).startswith(
        "rs1 is at generation 9, and the database is an older copy, which would give back b-lan in blue."
    )
