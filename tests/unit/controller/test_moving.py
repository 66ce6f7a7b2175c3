"""Moves through the controller: requested over REST, carried out by fake agents, stored in either database."""

from dataclasses import replace

import pytest

from controller.core.clock import now
from controller.core.sightings import DevicePlace
from controller.db import moves as table
from controller.db import sightings
from controller.wire.moves import Keep, Order, Tuning
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.fake_mover import running, settled
from tests.unit.controller.moving_town import VM, is_at, is_at_step, town
from tests.unit.controller.test_leases import mac

pytestmark = pytest.mark.slow


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
        await settled(lambda: is_at(controller, "c2-lan"))
        move = await town_.over(await town_.start("c1-lan"))
        assert move["state"] == "done", move
        vm = await controller.get("/vms/v1")
        assert (vm["endpoint"], vm["serving"], vm["address"]) == ("c1-lan", "a", "10.1.0.3")


async def test_back_to_where_its_address_is_from(controller: Controller) -> None:
    """The VM has kept its address, which is the right one at its destination: there is no other address to change
    to."""
    async with town(controller) as town_:
        await town_.over(await town_.start(keep=True))
        await settled(lambda: is_at(controller, "c2-lan"))
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
        await settled(lambda: is_at(controller, "c2-lan"))
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
        await settled(lambda: is_at(controller, "c2-lan"))
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
        await settled(lambda: is_at_step(controller, name, "memory"))
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
        await settled(lambda: is_at_step(controller, name, "leave"))
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


async def test_moves_in_pages(controller: Controller) -> None:
    async with town(controller) as town_:
        first = await town_.over(await town_.start())
        await settled(lambda: is_at(controller, "c2-lan"))
        second = await town_.over(await town_.start("c1-lan"))
        page = await controller.get("/moves", limit=1)
        assert [m["name"] for m in page["items"]] == [second["name"]]
        rest = await controller.get("/moves", limit=1, cursor=page["next"])
        assert [m["name"] for m in rest["items"]] == [first["name"]] and rest["next"] is None
        problem(await controller.http.get("/api/v1/moves?vm=v9"), 422, "vm")
        assert len((await controller.get("/moves", cloudlet="c2", state="done"))["items"]) == 2
        async with controller.region.database.read() as session:
            assert await table.under_way(session) == []
