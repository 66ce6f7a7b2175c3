"""Sightings on their way through a controller: which reports it believes, when it considers a device to be elsewhere,
and that it reports this once."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from controller.db.engine import Database
from controller.db.vms import VmRow
from controller.migration import sightings as work
from controller.migration.follow_device import FollowDevice
from controller.wire.desired import gateway_mac
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.fake_routeserver import FakeRouteServer

MAC, VM, OTHER = "02:00:5e:00:00:01", "02:00:5e:00:00:02", "02:00:5e:00:00:66"
MACHINE = {"name": "vm1", "driver": "simulated", "image": "small", "memory": 1 << 28, "macs": [VM, "02:00:5e:00:00:03"]}


class Town:
    """c1 and c2 in a pool, c3 apart; m1 with its VM at c1-lan. `told` lists the decided moves of devices."""

    def __init__(self, controller: Controller, agents: dict[str, FakeAgent]) -> None:
        self.controller, self.agents = controller, agents
        self.told: list[tuple[str, str]] = []
        controller.region.migration.sightings.seen = self.seen

    async def seen(self, device: str, endpoint: str) -> None:
        self.told.append((device, endpoint))

    async def lease(self, cloudlet: str, mac: str = MAC) -> str:
        answer = await self.agents[cloudlet].lease(endpoint=f"{cloudlet}-lan", mac=mac)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["address"])

    async def say(self, cloudlet: str, *sightings: dict[str, Any], status: int = 204) -> httpx.Response:
        agent = self.agents[cloudlet]
        body = {"cloudlet": cloudlet, "sightings": [{"endpoint": f"{cloudlet}-lan", "mac": MAC} | s for s in sightings]}
        answer = await agent.http.post("/api/v1/agent/sightings", json=body, headers=agent.headers)
        assert answer.status_code == status, answer.text
        return answer

    async def place(self, device: str = "m1") -> Any:
        return (await self.controller.get(f"/devices/{device}"))["place"]

    async def events(self, type: str) -> list[Any]:
        return [e for e in (await self.controller.get("/events", limit=1000))["items"] if e["type"] == type]

    async def until_at(self, endpoint: str) -> Any:
        async with asyncio.timeout(5):
            while (place := await self.place()) is None or place["endpoint"] != endpoint:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return place


async def vm(database: Database, endpoint: str = "c1-lan") -> None:
    async with database.write() as session:
        session.add(VmRow(name="vm1", device="m1", endpoint=endpoint, machine=MACHINE))


async def settle(controller: Controller, seconds: float) -> None:
    text = f"apiVersion: weft/v1\nvcps: {{}}\nmigration: {{settle_seconds: {seconds}}}\n"
    headers = {"Content-Type": "application/yaml"}
    answer = await controller.http.post("/api/v1/policy/apply", content=text, headers=headers)
    assert answer.status_code == 200, answer.text
    assert controller.region.intent.policy.migration.settle_seconds == seconds


async def build(controller: Controller) -> Town:
    agents = {f"c{n}": await controller.agent(f"c{n}", n) for n in (1, 2, 3)}
    await controller.post("/vcps", {"name": "blue"})
    for name in ("c1-lan", "c2-lan"):
        await controller.post("/vcps/blue/members", {"endpoint": name})
    await controller.post("/devices", {"name": "m1", "mac": MAC, "vm": {"mac": VM}})
    await vm(controller.region.database)
    return Town(controller, agents)


@pytest.fixture
async def town(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> Town:
    monkeypatch.setattr(work, "AGAIN", 0.02)
    town = await build(controller)
    await settle(controller, 0.2)
    return town


async def test_a_lease_elsewhere_makes_it_be_there_after_a_while(town: Town) -> None:
    assert await town.place() is None
    await town.say("c1", {"address": await town.lease("c1"), "how": "lease"})
    place = await town.until_at("c1-lan")
    assert (place["seen_endpoint"], place["how"], place["turns"]) == ("c1-lan", "lease", 0)
    await town.say("c2", {"address": await town.lease("c2"), "how": "lease"})
    place = await town.place()
    assert (place["endpoint"], place["seen_endpoint"]) == ("c1-lan", "c2-lan")
    await town.until_at("c2-lan")
    assert town.told == [("m1", "c1-lan"), ("m1", "c2-lan")]
    first, second = await town.events("device-seen")
    assert first["data"]["before"] is None
    assert second["text"] == "m1 is at c2-lan, no longer at c1-lan" and second["data"]["after_seconds"] >= 0.2


async def test_packets_move_nobody_and_make_us_look(town: Town) -> None:
    address = await town.lease("c1")
    await town.say("c1", {"address": address, "how": "lease"})
    await town.until_at("c1-lan")
    before = await town.place()
    await town.say("c2", {"address": address, "how": "packet"}, {"address": "10.2.0.8", "how": "packet"})
    await town.say("c1", {"address": "10.2.0.2", "how": "packet"})
    await asyncio.sleep(0.4)
    assert await town.place() == before
    await town.lease("c2")  # its sighting gets lost
    await asyncio.sleep(0.3)
    assert await town.place() == before
    await town.say("c1", {"address": "10.2.0.2", "how": "packet", "mac": gateway_mac("c2", 1)})
    assert (await town.until_at("c2-lan"))["how"] == "packet"


async def test_who_has_another_mac_is_suspected_and_moves_nobody(town: Town) -> None:
    for cloudlet in ("c1", "c2"):
        address = await town.lease(cloudlet)
        await town.say(cloudlet, {"address": address, "how": "lease"})
    await town.until_at("c2-lan")
    before = await town.place()
    for _ in range(5):
        await town.say("c1", {"address": "10.1.0.2", "how": "packet", "mac": OTHER})
    async with asyncio.timeout(5):
        while not (spoofed := await town.events("device-spoofed")):  # noqa: ASYNC110 - it is written in the background
            await asyncio.sleep(0.02)
    assert len(spoofed) == 1 and spoofed[0]["subject"] == "m1" and spoofed[0]["data"]["mac"] == OTHER
    assert await town.place() == before
    counted = town.controller.region.runtime.metrics.text().decode()
    assert 'weft_sightings_total{how="packet",worth="spoofed"} 5.0' in counted


async def test_a_lease_that_is_accounted_for_later_counts_when_it_is(town: Town) -> None:
    await town.say("c2", {"address": "10.2.0.2", "how": "lease"})
    await asyncio.sleep(0.1)
    assert await town.place() is None
    assert await town.lease("c2") == "10.2.0.2"
    await town.until_at("c2-lan")


async def test_an_agent_speaks_of_its_own_only(town: Town) -> None:
    problem(
        await town.say("c2", {"endpoint": "c1-lan", "address": "10.1.0.2", "how": "lease"}, status=422), 422, "endpoint"
    )
    problem(await town.say("c2", {"address": "10.1.0.256", "how": "packet"}, status=422), 422, "sightings")
    agent = town.agents["c2"]
    body = {"cloudlet": "c1", "sightings": []}
    answer = await agent.http.post("/api/v1/agent/sightings", json=body, headers=agent.headers)
    problem(answer, 403, "cloudlet")
    address = await town.lease("c1")  # c2 claims to have leased an address of c1's
    await town.say("c2", {"address": address, "how": "lease"})
    await asyncio.sleep(0.4)
    assert await town.place() is None


async def test_outside_the_pools_of_its_vm_it_is_seen_and_not_followed(town: Town) -> None:
    await town.say("c1", {"address": await town.lease("c1"), "how": "lease"})
    await town.until_at("c1-lan")
    await town.say("c3", {"address": await town.lease("c3"), "how": "lease"})
    await asyncio.sleep(0.4)
    place = await town.place()
    assert (place["endpoint"], place["seen_endpoint"]) == ("c1-lan", "c3-lan")
    (row,) = (await town.controller.get("/sightings", settled=False))["items"]
    assert row["device"] == "m1"
    await town.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"})
    town.controller.region.migration.sightings._news.set()
    await town.until_at("c3-lan")


async def test_a_late_report_of_the_old_place_undoes_nothing(town: Town) -> None:
    one, two = await town.lease("c1"), await town.lease("c2")
    await town.say("c2", {"address": two, "how": "lease"})
    await town.say("c1", {"address": one, "how": "lease", "age": 30})
    await town.until_at("c2-lan")
    assert (await town.place())["seen_endpoint"] == "c2-lan" and ("m1", "c1-lan") not in town.told


async def test_one_that_comes_and_goes_is_held_back(town: Town) -> None:
    await settle(town.controller, 5)
    addresses = {cloudlet: await town.lease(cloudlet) for cloudlet in ("c1", "c2")}
    for turn in range(12):
        await town.say("c2" if turn % 2 else "c1", {"address": addresses["c2" if turn % 2 else "c1"], "how": "lease"})
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.5)
    place = await town.place()
    assert place["seen_endpoint"] == "c2-lan" and place["endpoint"] is None and place["turns"] > 9
    assert not town.told


async def test_lists_have_filters_and_pages(town: Town) -> None:
    await town.say("c1", {"address": await town.lease("c1"), "how": "lease"})
    other = await town.lease("c3", OTHER)
    await town.say("c3", {"address": other, "how": "lease", "mac": OTHER})
    await town.until_at("c1-lan")
    get = town.controller.get
    assert [s["device"] for s in (await get("/sightings"))["items"]] == ["dev-02005e000066", "m1"]
    assert [s["device"] for s in (await get("/sightings", endpoint="c1-lan"))["items"]] == ["m1"]
    assert [s["device"] for s in (await get("/sightings", device="m1"))["items"]] == ["m1"]
    page = await get("/sightings", limit=1)
    assert [s["device"] for s in (await get("/sightings", limit=1, cursor=page["next"]))["items"]] == ["m1"]


async def test_a_device_that_is_registered_stays_where_it_was_and_one_that_is_forgotten_is_nowhere(town: Town) -> None:
    address = await town.lease("c3", OTHER)
    await town.say("c3", {"address": address, "how": "lease", "mac": OTHER})
    await town.controller.post("/devices", {"name": "m2", "mac": OTHER})
    assert (await town.place("m2"))["seen_endpoint"] == "c3-lan"
    (lease,) = (await town.controller.get("/leases", device="m2"))["items"]
    await town.controller.delete(f"/leases/{lease['id']}", 204)
    await town.controller.delete("/devices/m2", 204)
    assert not (await town.controller.get("/sightings"))["items"]


async def test_a_decision_that_nobody_heard_is_told_by_the_next_leader(
    start: Start, route_server: FakeRouteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(route_server) as controller:
        town = await build(controller)
        await settle(controller, 0)

        async def fails(device: str, endpoint: str) -> None:
            raise RuntimeError("killed in between")

        controller.region.migration.sightings.seen = fails
        await town.say("c2", {"address": await town.lease("c2"), "how": "lease"})
        await town.until_at("c2-lan")
    told: list[tuple[str, str]] = []

    async def seen(_: FollowDevice, device: str, endpoint: str) -> None:
        told.append((device, endpoint))

    monkeypatch.setattr(FollowDevice, "seen", seen)
    async with start(route_server):
        await eventually(lambda: told == [("m1", "c2-lan")])


async def test_two_replicas_decide_once(start: Start, route_server: FakeRouteServer, database_url: str) -> None:
    if database_url.startswith("sqlite"):
        pytest.skip("one controller has an SQLite database for itself")
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(start(route_server, replica="one"))
        two = await stack.enter_async_context(start(route_server, replica="two"))
        await eventually(lambda: one.region.replication.leadership.leading != two.region.replication.leadership.leading)
        leader, other = (one, two) if one.region.replication.leadership.leading else (two, one)
        town = await build(leader)
        told: list[tuple[str, str]] = []

        async def seen(device: str, endpoint: str) -> None:
            told.append((device, endpoint))

        for controller in (leader, other):
            controller.region.migration.sightings.seen = seen
        address = await town.lease("c2")
        await eventually(lambda: "c2-lan" in other.region.intent.endpoints)
        for agent in town.agents.values():
            agent.http = other.http
        await town.say("c2", {"address": address, "how": "lease"})
        began = asyncio.get_running_loop().time()
        await eventually(lambda: told)
        assert 1.5 < asyncio.get_running_loop().time() - began < 4.5, "settled by the clock, and not by the next look"
        await asyncio.sleep(0.5)
        assert told == [("m1", "c2-lan")] and len(await town.events("device-seen")) == 1
