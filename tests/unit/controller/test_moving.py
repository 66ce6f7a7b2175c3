"""Moves through the controller: requested over REST, carried out by fake agents, stored in either database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from controller.core.clock import now
from controller.core.sightings import DevicePlace
from controller.db import moves as table
from controller.db import sightings
from controller.wire.moves import Keep, Order, Tuning
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.fake_mover import Condition, Mover, running, settled
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.test_leases import mac
from tests.unit.controller.test_neighbours import measured, told

pytestmark = pytest.mark.slow

VM = {"name": "v1", "device": "m1", "endpoint": "c1-lan", "driver": "simulated", "image": "debian", "memory": 1 << 28}
OVER = ("done", "undone")


@dataclass
class Town:
    """Cloudlets c1, c2 and c3, the first two in a pool, and a VM that runs at c1."""

    controller: Controller
    movers: dict[str, Mover]
    there: Condition = field(default_factory=dict)

    async def start(self, endpoint: str = "c2-lan", **more: Any) -> str:
        move = await self.controller.post("/moves", {"vm": "v1", "endpoint": endpoint, "linger": 0, **more})
        return str(move["name"])

    async def over(self, name: str) -> dict[str, Any]:
        """Wait until the move has ended, and return it."""
        move: dict[str, Any] = {}

        async def ended() -> bool:
            nonlocal move
            move = await self.controller.get(f"/moves/{name}")
            return bool(move["state"] in OVER)

        try:
            await settled(ended)
        except TimeoutError:
            raise AssertionError(f"{name} does not end: {move}") from None
        return move


@asynccontextmanager
async def town(
    controller: Controller, *, pool: tuple[str, ...] = ("c1-lan", "c2-lan"), pe: str = "vpls", ipv6: bool = False
) -> AsyncIterator[Town]:
    there: Condition = {}
    movers = {}
    for number, name in enumerate(("c1", "c2", "c3"), 1):
        lan: dict[str, Any] = {"prefix6": f"2001:db8:{number}::/64"} if ipv6 else {}
        movers[name] = Mover(name, await controller.agent(name, number, pe=pe, **lan), there)
    await controller.post("/vcps", {"name": "blue", "flavour": pe})
    for endpoint in pool:
        await controller.post("/vcps/blue/members", {"endpoint": endpoint})
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await controller.post("/vms", VM)
    vm = await controller.get("/vms/v1")
    lease = await movers["c1"].agent.lease(endpoint="c1-lan", mac=vm["macs"][0], client_id=vm["client_id"])
    assert lease.json()["address"] == "10.1.0.3"
    tasks = [asyncio.create_task(mover.run()) for mover in movers.values()]
    try:
        await controller.post("/vms/v1/start", status=200)
        await settled(lambda: _runs(controller))
        yield Town(controller, movers, there)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _runs(controller: Controller) -> bool:
    vm = await controller.get("/vms/v1")
    return bool(vm["condition"] == "running" and vm["address"] == "10.1.0.3")


async def test_a_move_from_end_to_end(controller: Controller) -> None:
    async with town(controller) as town_:
        move = await town_.over(await town_.start())
        assert (move["state"], move["step"], move["reason"]) == ("done", "normal", "")
        assert running(town_.there, "v1") == ["c2"] and ("c1", "v1") not in town_.there
        vm = await controller.get("/vms/v1")
        assert (vm["endpoint"], vm["serving"], vm["address"], vm["move"]) == ("c2-lan", "b", "10.2.0.3", None)
        steps = [(s["step"], s["state"]) for s in move["steps"]]
        assert [s for s in steps if s[1] != "done"] == [("disk", "skipped")]
        assert [s for s, _ in steps] == ["authorise", "connect", "reserve", "prepare", "disk", "memory", "switchover",
                                         "activate", "join", "leave", "discard", "normal"]  # fmt: skip
        bandwidth = (await controller.get("/neighbours/bandwidths"))["items"]
        assert [(b["cloudlet"], b["neighbour"], b["last_bytes"]) for b in bandwidth] == [("c1", "c2", 625_000)]
        types = {event["type"] for event in (await controller.get("/events", limit=1000))["items"]}
        assert {"move-waiting", "move-switchover", "move-activate", "move-done"} <= types
        counted = (await controller.http.get("/metrics")).text
        assert 'weft_moves_ended_total{state="done"} 1.0' in counted
        assert 'weft_move_wire_bytes_total{medium="memory"} 625000.0' in counted


POLICY = """
apiVersion: weft/v1
vcps: {blue: {members: [c1-lan, c2-lan]}}
migration:
  downtime_ms: 200
  post_copy: true
  keep_seconds: 60
  keep_bytes: 1073741824
  mirror_bytes: 268435456
  bandwidth: [{mbps: 100}, {from: c1, to: c2, mbps: 2.5}, {from: c2, mbps: 1}]
"""


async def test_agents_get_the_policys_limits(controller: Controller) -> None:
    async with town(controller) as town_:
        headers = {"content-type": "application/yaml"}
        applied = await controller.http.post("/api/v1/policy/apply", content=POLICY, headers=headers)
        assert applied.status_code == 200, applied.text
        orders: list[Order] = []
        for mover in town_.movers.values():
            mover.broken = lambda order: orders.append(order)
        assert (await town_.over(await town_.start()))["state"] == "done"
    keep = Keep(seconds=60, bytes=1 << 30)
    expected = Tuning(downtime_ms=200, post_copy=True, keep=keep, mirror=256 << 20, bandwidth=2_500_000)
    assert {order.act: order.tuning for order in orders if order.act in ("prepare", "memory")} == {
        "prepare": expected,
        "memory": expected,
    }


async def test_back_again_with_the_other_vnic(controller: Controller) -> None:
    async with town(controller) as town_:
        await town_.over(await town_.start())
        await settled(lambda: _at(controller, "c2-lan"))
        move = await town_.over(await town_.start("c1-lan"))
        assert move["state"] == "done", move
        vm = await controller.get("/vms/v1")
        assert (vm["endpoint"], vm["serving"], vm["address"]) == ("c1-lan", "a", "10.1.0.3")


async def test_back_to_where_its_address_is_from(controller: Controller) -> None:
    """The VM has kept its address, which is the right one at its destination: there is no other address to change
    to."""
    async with town(controller) as town_:
        await town_.over(await town_.start(keep=True))
        await settled(lambda: _at(controller, "c2-lan"))
        move = await town_.over(await town_.start("c1-lan"))
        assert (move["state"], move["reason"], move["new_address"]) == ("done", "", None), move
        assert {s["step"] for s in move["steps"] if s["state"] == "skipped"} == {"disk", "join", "leave"}
        vm = await controller.get("/vms/v1")
        assert (vm["endpoint"], vm["serving"], vm["address"]) == ("c1-lan", "a", "10.1.0.3")


@pytest.mark.parametrize("walks", [True, False])
async def test_only_a_device_that_walks_on_ends_a_move(controller: Controller, walks: bool) -> None:
    """A new leader reports every device's place again: a device that was there before the move began has not walked
    on."""
    async with town(controller) as town_:
        place = DevicePlace(
            "c3-lan", seen_since=now(), at=now(), how="lease", turned_at=now(), endpoint="c3-lan", since=now()
        )
        async with controller.region.database.write() as session:
            await sightings.save(session, [], {"m1": place})
        town_.movers["c2"].deaf.add("prepare")
        name = await town_.start()
        if walks:
            async with controller.region.database.write() as session:
                await sightings.save(session, ["m1"], {"m1": replace(place, since=now())})
        await controller.region.migration.moves.seen("m1", "c3-lan")
        state = (await controller.get(f"/moves/{name}"))["state"]
        assert (state in ("undoing", "undone")) == walks, state


async def _at(controller: Controller, endpoint: str) -> bool:
    vm = await controller.get("/vms/v1")
    return bool(vm["endpoint"] == endpoint and vm["condition"] == "running")


async def test_a_move_that_keeps_the_address(controller: Controller) -> None:
    async with town(controller) as town_:
        move = await town_.over(await town_.start(keep=True))
        vm = await controller.get("/vms/v1")
        assert (move["state"], vm["address"], vm["serving"], vm["endpoint"]) == ("done", "10.1.0.3", "a", "c2-lan")
        assert {s["step"] for s in move["steps"] if s["state"] == "skipped"} == {"disk", "reserve", "join", "leave"}
        assert (await controller.get("/reservations"))["items"] == []
        await controller.region.migration.scheduler.hold()
        assert [r["vm"] for r in (await controller.get("/reservations"))["items"]] == ["10.1.0.3"]


async def test_an_endpoint_that_shares_no_pool_joins_one_and_leaves_it_when_the_move_is_undone(
    controller: Controller,
) -> None:
    async with town(controller, pool=("c1-lan",)) as town_:
        town_.movers["c2"].broken = lambda order: (
            {"state": "refused", "detail": "no room"} if order.act == "prepare" else None
        )
        move = await town_.over(await town_.start())
        assert move["state"] == "undone" and "no room" in move["reason"]
        undone = [(step["step"], step["state"]) for step in move["steps"] if step["undoing"]]
        assert undone == [("abort", "done"), ("disconnect", "done"), ("release", "done")]
        assert running(town_.there, "v1") == ["c1"]
        assert (await controller.get("/vcps/blue"))["members"] == ["c1-lan"]
        assert (await controller.get("/reservations", endpoint="c2-lan"))["items"] == []
        town_.movers["c2"].broken = lambda order: None
        move = await town_.over(await town_.start())
        assert (move["state"], move["pool"]) == ("done", "blue")


async def test_a_pool_that_was_joined_for_a_vm_is_left_with_it(controller: Controller) -> None:
    async with town(controller, pool=("c1-lan",)) as town_:
        await town_.over(await town_.start())
        await settled(lambda: _at(controller, "c2-lan"))
        assert (await controller.get("/vcps/blue"))["members"] == ["c1-lan", "c2-lan"]
        move = await town_.over(await town_.start("c1-lan"))
        assert (move["state"], move["reason"]) == ("done", "")
        assert [s["detail"] for s in move["steps"] if s["step"] == "disconnect"] == ["c2-lan left blue"]
        assert (await controller.get("/vcps/blue"))["members"] == ["c1-lan"]
        own = (await controller.get("/audit", who="controller", method="change"))["items"]
        assert [one["path"] for one in own] == ["c2-lan left blue", "c2-lan joined blue"]
        assert own[1]["after"]["vcps"]["blue"]["members"] == ["c2-lan"]


@pytest.mark.parametrize("why", ["another VM", "an operator"])
async def test_a_pool_is_not_left_that_somebody_else_wants(controller: Controller, why: str) -> None:
    async with town(controller, pool=("c1-lan",)) as town_:
        await town_.over(await town_.start())
        await settled(lambda: _at(controller, "c2-lan"))
        if why == "another VM":
            await controller.post("/devices", {"name": "m2", "mac": mac(2)})
            await controller.post("/vms", VM | {"name": "v2", "device": "m2", "endpoint": "c2-lan"})
        else:
            await controller.delete("/vcps/blue/members/c2-lan", 200)
            await controller.post("/vcps/blue/members", {"endpoint": "c2-lan"})
        move = await town_.over(await town_.start("c1-lan"))
        assert (move["state"], move["reason"]) == ("done", "")
        said = [s["detail"] for s in move["steps"] if s["step"] == "disconnect"]
        assert said == (["c2-lan stays in blue: v2 is there"] if why == "another VM" else [])
        assert (await controller.get("/vcps/blue"))["members"] == ["c1-lan", "c2-lan"]


@pytest.mark.parametrize("reserved", [False, True])
async def test_the_old_address_is_given_up(controller: Controller, reserved: bool) -> None:
    """After the move the old address is neither leased to the VM nor reserved for it; the move changes neither the
    device's own lease nor an operator's reservation."""
    async with town(controller) as town_:
        await town_.movers["c1"].agent.lease(endpoint="c1-lan", mac=mac(1))
        if reserved:
            await controller.post("/reservations", {"endpoint": "c1-lan", "device": "m1", "seconds": 86_400})
        leases = (await controller.get("/leases", endpoint="c1-lan"))["items"]
        assert [lease["address"] for lease in leases] == ["10.1.0.3", "10.1.0.2"]
        await town_.over(await town_.start())
        leases = (await controller.get("/leases", endpoint="c1-lan"))["items"]
        assert [lease["address"] for lease in leases] == ["10.1.0.2"]
        kept = (await controller.get("/reservations", endpoint="c1-lan"))["items"]
        assert [r["device"] for r in kept] == (["m1"] if reserved else [])
        said = [e["text"] for e in (await controller.get("/events", limit=1000))["items"]]
        assert "10.1.0.3 at c1-lan released: m1's VM is at c2-lan" in said
        assert ("pair 0 of c1-lan is not reserved any more" in said) != reserved


async def test_a_device_that_does_not_join(controller: Controller) -> None:
    async with town(controller) as town_:
        town_.movers["c2"].broken = lambda order: (
            {"state": "refused", "detail": "no MPTCP"} if order.act == "join" else None
        )
        move = await town_.over(await town_.start())
        assert move["state"] == "done" and "old address kept" in move["reason"]
        vm = await controller.get("/vms/v1")
        assert (vm["endpoint"], vm["serving"], vm["address"]) == ("c2-lan", "a", "10.1.0.3")
        assert (await controller.get("/reservations", endpoint="c2-lan"))["items"] == []
        leases = (await controller.get("/leases", endpoint="c1-lan"))["items"]
        assert [lease["address"] for lease in leases] == ["10.1.0.3"]
        assert [r["vm"] for r in (await controller.get("/reservations"))["items"]] == ["10.1.0.3"]


async def test_a_destination_that_cannot_run_it_gives_it_back(controller: Controller) -> None:
    async with town(controller) as town_:
        town_.movers["c2"].broken = lambda order: (
            {"state": "refused", "detail": "it is gone"} if order.act == "activate" else None
        )
        move = await town_.over(await town_.start())
        assert move["state"] == "undone" and "it is gone" in move["reason"]
        assert running(town_.there, "v1") == ["c1"]


async def test_one_at_a_time_and_cancelled(controller: Controller) -> None:
    async with town(controller) as town_:
        town_.movers["c1"].deaf.add("memory")
        name = await town_.start()
        await settled(lambda: _step(controller, name, "memory"))
        await controller.refused(409, "/moves", {"vm": "v1", "endpoint": "c2-lan"}, "vm", name)
        assert (await controller.get("/vms/v1"))["move"] == name
        await controller.delete(f"/moves/{name}")
        move = await town_.over(name)
        assert move["state"] == "undone" and running(town_.there, "v1") == ["c1"]
        problem(await controller.http.delete(f"/api/v1/moves/{name}"), 409)
        assert ("c2", "v1") not in town_.there


async def test_an_address_that_lingers_keeps_the_next_move_back_until_it_is_let_go(controller: Controller) -> None:
    async with town(controller) as town_:
        town_.movers["c2"].broken = lambda order: (
            {"state": "running"} if order.act == "leave" and order.addresses and order.addresses.linger else None
        )
        name = await town_.start(linger=600)
        problem(await controller.http.post(f"/api/v1/moves/{name}/finish"), 409)
        await settled(lambda: _step(controller, name, "leave"))
        vm = await controller.get("/vms/v1")
        assert (vm["address"], vm["serving"]) == ("10.2.0.3", "b"), "nothing new begins at the old one"
        await controller.refused(409, "/moves", {"vm": "v1", "endpoint": "c1-lan"}, "vm", f"weft move finish {name}")
        await controller.post(f"/moves/{name}/finish", status=200)
        move = await town_.over(name)
        assert (move["state"], move["reason"]) == ("done", "")
        assert [s["state"] for s in move["steps"] if s["step"] == "leave"] == ["skipped", "done"]
        problem(await controller.http.post(f"/api/v1/moves/{name}/finish"), 409)
        problem(await controller.http.post("/api/v1/moves/move-9/finish"), 404)
        assert (await town_.over(await town_.start("c1-lan")))["state"] == "done"


async def _step(controller: Controller, name: str, step: str) -> bool:
    return bool((await controller.get(f"/moves/{name}"))["step"] == step)


async def test_what_is_refused_at_once(controller: Controller) -> None:
    async with town(controller):
        await controller.refused(422, "/moves", {"vm": "v9", "endpoint": "c2-lan"}, "vm", "no VM 'v9'")
        await controller.refused(422, "/moves", {"vm": "v1", "endpoint": "c9-lan"}, "endpoint", "no endpoint")
        await controller.refused(409, "/moves", {"vm": "v1", "endpoint": "c1-lan"}, "endpoint", "already")
        await controller.post("/cloudlets/c3/drain", status=200)
        await controller.refused(409, "/moves", {"vm": "v1", "endpoint": "c3-lan"}, "endpoint", "draining")


async def test_an_order_begins_only_if_it_is_still_there(controller: Controller) -> None:
    async with town(controller) as town_:
        begin = {"move": "move-x", "number": 1, "act": "activate", "state": "running"}
        assert await town_.movers["c2"].say(begin) == 409
        assert await town_.movers["c2"].say(begin | {"state": "done"}) == 204
        other = await town_.movers["c2"].agent.moves(cloudlet="c1", progress=[], machines=[])
        assert other.status_code == 403


STEPS = ["authorise", "prepare", "memory", "switchover", "activate", "join", "discard"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_controller_that_dies_at_a_step_goes_on(start: Start, route_server: FakeRouteServer, step: str) -> None:
    async with start(route_server) as first, town(first) as town_:
        for mover in town_.movers.values():
            mover.deaf.add(step)
        name = await town_.start()
        await settled(lambda: _step(first, name, step) if step != "authorise" else _true())
        credentials = {n: m.agent.headers for n, m in town_.movers.items()}
        there = dict(town_.there)
    async with start(route_server) as second:
        movers = await _again(second, credentials, there)
        try:
            town_ = Town(second, movers, there)
            move = await town_.over(name)
            assert move["state"] == "done", move
            assert running(there, "v1") == ["c2"] and ("c1", "v1") not in there
        finally:
            await _end(movers)


async def _true() -> bool:
    return True


TASKS: list["asyncio.Task[None]"] = []


async def _again(controller: Controller, credentials: dict[str, Any], there: Condition) -> dict[str, Mover]:
    from tests.unit.controller.fake_agent import FakeAgent

    movers = {}
    for name, headers in credentials.items():
        agent = FakeAgent(controller.http, headers["Authorization"].removeprefix("Bearer "))
        await controller.follow(agent)
        movers[name] = Mover(name, agent, there)
        TASKS.append(asyncio.create_task(movers[name].run()))
    return movers


async def _end(movers: dict[str, Mover]) -> None:
    tasks, TASKS[:] = list(TASKS), []
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_evacuation(controller: Controller) -> None:
    async with town(controller) as town_:
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert (answer["moves"], answer["stranded"]) == ([], ["v1"])  # no neighbour is measured
        for number, (name, median) in enumerate((("c2", 10.0), ("c3", 500.0)), 1):
            await told(town_.movers["c1"].agent, "c1", measured(number, name, median), run=f"r{number}")
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert [move["endpoint"] for move in answer["moves"]] == ["c2-lan"] and answer["stranded"] == []
        again = await controller.post("/cloudlets/c1/evacuation")
        assert again["moves"] == [] and again["moving"] in (["v1"], [])
        move = await town_.over(answer["moves"][0]["name"])
        assert (move["state"], move["asked_by"]) == ("done", "evacuation")
        assert running(town_.there, "v1") == ["c2"]


async def test_a_cloudlet_that_drains_is_evacuated_before(controller: Controller) -> None:
    """A cloudlet with running VMs refuses to drain; a forced evacuation names the obstacle for each VM."""
    async with town(controller) as town_:
        drain, first = "/cloudlets/c1/drain", "v1 is running at c1-lan, and cannot leave once c1 drains: evacuate c1"
        await controller.refused(409, drain, None, None, first)
        await controller.refused(409, f"{drain}?dry_run=true", None, None, first)
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert answer["why"] == {"v1": "c1 has no possible neighbour with a LAN"}
        await told(town_.movers["c1"].agent, "c1", measured(1, "c2"))
        await controller.post(drain, status=200, force="true")
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert (answer["moves"], answer["stranded"], list(answer["why"])) == ([], ["v1"], ["v1"])
        assert answer["why"]["v1"].startswith("c1-lan is in no pool, because c1 is draining: approve c1, ")
        move = await town_.over(await town_.start())
        assert (move["state"], move["reason"]) == ("undone", f"connect failed: {answer['why']['v1']}")
        await controller.post("/cloudlets/c1/approve", status=200)
        await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert (len(answer["moves"]), answer["why"]) == (1, {})
        await town_.over(answer["moves"][0]["name"])
        await settled(lambda: _at(controller, "c2-lan"))
        await controller.post(drain, status=200)


async def test_who_cannot_leave_is_told_why(controller: Controller) -> None:
    async with town(controller, pool=()) as town_:
        await told(town_.movers["c1"].agent, "c1", measured(1, "c2"))
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert answer["why"] == {"v1": "c1-lan is in no pool, and a VM moves within a pool"}
        await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        await controller.post("/cloudlets/c2/drain", status=200)
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert answer["why"] == {"v1": "c2-lan is not active: its cloudlet c2 is draining"}


async def test_moves_in_pages(controller: Controller) -> None:
    async with town(controller) as town_:
        first = await town_.over(await town_.start())
        await settled(lambda: _at(controller, "c2-lan"))
        second = await town_.over(await town_.start("c1-lan"))
        page = await controller.get("/moves", limit=1)
        assert [m["name"] for m in page["items"]] == [second["name"]]
        rest = await controller.get("/moves", limit=1, cursor=page["next"])
        assert [m["name"] for m in rest["items"]] == [first["name"]] and rest["next"] is None
        problem(await controller.http.get("/api/v1/moves?vm=v9"), 422, "vm")
        assert len((await controller.get("/moves", cloudlet="c2", state="done"))["items"]) == 2
        async with controller.region.database.read() as session:
            assert await table.under_way(session) == []
