"""VMs that start anew at another cloudlet, instead of moving there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from controller.core.clock import now
from controller.db.initiations import InitiationRow
from controller.db.vms import VmRow
from controller.migration import follow_device as module
from controller.migration.follow_device import AGAIN, consider
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.fake_mover import breaking, running, settled
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.moving_town import Town, again, end, is_at, is_at_step, town
from tests.unit.controller.test_follow_device import neighbour, taken_to_be

pytestmark = pytest.mark.slow

HOW = {"check": "http:80/ready", "handover": "/opt/state"}


@asynccontextmanager
async def ready(controller: Controller, **more: Any) -> AsyncIterator[Town]:
    """A town whose agents have told that they can start VMs anew."""
    async with town(controller, **more) as there:
        for name, mover in there.movers.items():
            answer = await mover.agent.moves(cloudlet=name, machines=machines(there, name), initiates=["simulated"])
            assert answer.status_code == 204, answer.text
        yield there


def machines(there: Town, cloudlet: str) -> list[dict[str, str]]:
    return [{"name": name, "condition": is_} for (at, name), is_ in there.there.items() if at == cloudlet]


async def synthesise(there: Town, endpoint: str = "c2-lan", **more: Any) -> str:
    body = {"vm": "v1", "endpoint": endpoint, "linger": 0, **more}
    return str((await there.controller.post("/moves/initiation", body))["name"])


async def policy(controller: Controller, on_verdict: str) -> None:
    text = (
        "apiVersion: weft/v1\nvcps: {blue: {members: [c1-lan, c2-lan]}}\nmigration: {on_verdict: " + on_verdict + "}\n"
    )
    applied = await controller.http.post(
        "/api/v1/policy/apply", content=text, headers={"content-type": "application/yaml"}
    )
    assert applied.status_code == 200, applied.text


async def untouched(there: Town) -> None:
    """Check that the VM serves where it was, and that nothing of the initiation is left."""
    vm = await there.controller.get("/vms/v1")
    assert (vm["endpoint"], vm["address"], vm["serving"], vm["move"]) == ("c1-lan", "10.1.0.3", "a", None)
    assert running(there.there, "v1") == ["c1"] and ("c2", "v1") not in there.there
    held = await there.controller.get("/addresses/c2-lan")
    assert "10.2.0.3" not in str(held), held


async def test_an_operator_starts_a_vm_anew(controller: Controller) -> None:
    async with ready(controller) as there:
        await controller.post("/vms/v1/stop", status=200)
        await settled(lambda: is_in(controller, "stopped"))
        await controller.http.patch("/api/v1/vms/v1", json=HOW)
        await controller.post("/vms/v1/start", status=200)
        await settled(lambda: is_at(controller, "c1-lan"))
        name = await synthesise(there, reason="a test")
        move = await there.over(name)
        assert (move["state"], move["reason"], move["at"], move["anew"]) == ("done", "", "c2-lan", True), move
        assert [step["step"] for step in move["steps"] if step["state"] == "done"] == [
            *("authorise", "connect", "reserve", "initiate", "leave", "discard", "normal")
        ]
        assert [order for order, _ in there.movers["c2"].done] == ["initiate"]
        assert running(there.there, "v1") == ["c2"] and ("c1", "v1") not in there.there
        vm = await controller.get("/vms/v1")
        assert (vm["endpoint"], vm["address"], vm["serving"]) == ("c2-lan", "10.2.0.3", "b")
        assert (vm["check"], vm["handover"]) == (HOW["check"], HOW["handover"])
        sent = [order for orders in there.movers["c2"].agent.orders for order in orders.orders]
        (initiation,) = {order.model_dump_json(include={"initiation"}) for order in sent if order.act == "initiate"}
        assert HOW["check"] in initiation and HOW["handover"] in initiation
        (event,) = (await controller.get("/events", type="vm-initiated"))["items"]
        assert (event["data"]["address"], event["data"]["old"], event["data"]["seconds"]) == (
            "10.2.0.3",
            "10.1.0.3",
            12,
        )
        assert (await controller.get("/profiles"))["items"] == []
        (decision,) = (await controller.get("/decisions"))["items"]
        assert (decision["course"], decision["move"]) == ("synthesise", name)
        assert 'weft_moves_ended_total{state="initiated"} 1.0' in (await controller.http.get("/metrics")).text
        predicted = await controller.get("/moves/prediction", vm="v1", endpoint="c1-lan")
        assert (predicted["initiation_seconds"], predicted["initiations"]) == (12.0, 1)
        assert (await there.over(await there.start("c1-lan")))["state"] == "done", "it moves from there as any other"


async def is_in(controller: Controller, condition: str) -> bool:
    return bool((await controller.get("/vms/v1"))["condition"] == condition)


async def test_no_common_pool_is_needed(controller: Controller) -> None:
    async with ready(controller, pool=()) as there:
        assert (await there.over(await synthesise(there)))["state"] == "done"
        assert running(there.there, "v1") == ["c2"]


@pytest.mark.parametrize("state", ["refused", "failed"])
async def test_a_vm_that_does_not_serve_is_removed(
    controller: Controller, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr("controller.core.saga.undo.PAUSE", 0.05)
    async with ready(controller) as there:

        def unanswered(order: Any) -> dict[str, Any] | None:
            if order.act != "initiate":
                return None
            there.there["c2", "v1"] = "running"
            return {"state": state, "detail": "nobody answers at port 80"}

        there.movers["c2"].broken = unanswered
        move = await there.over(await synthesise(there))
        assert move["state"] == "undone" and "nobody answers at port 80" in move["reason"], move
        tried = [act for act, _ in there.movers["c2"].done]
        assert tried == ["initiate", "abort"] * (1 if state == "refused" else 3)
        assert there.movers["c1"].done == [("start", 2)], "the source is left alone"
        await untouched(there)
        (event,) = (await controller.get("/events", type="move-undone"))["items"]
        assert "nobody answers at port 80" in event["text"]


@pytest.mark.parametrize("step", ["initiate", "leave", "discard"])
async def test_a_controller_that_dies_goes_on(start: Start, route_server: FakeRouteServer, step: str) -> None:
    async with start(route_server) as first, ready(first) as there:
        for mover in there.movers.values():
            mover.deaf.add(step)
        name = await synthesise(there)
        await settled(lambda: is_at_step(first, name, step))
        credentials = {n: m.agent.headers for n, m in there.movers.items()}
        machines_there = dict(there.there)
    async with start(route_server) as second:
        movers = await again(second, credentials, machines_there)
        try:
            move = await Town(second, movers, machines_there).over(name)
            assert move["state"] == "done", move
            assert running(machines_there, "v1") == ["c2"] and ("c1", "v1") not in machines_there
        finally:
            await end(movers)


@pytest.mark.parametrize("seen", ["c3-lan", "c1-lan"])
async def test_a_device_that_walks_on_is_not_waited_for(controller: Controller, seen: str) -> None:
    async with ready(controller) as there:
        there.movers["c2"].deaf.add("initiate")
        name = await synthesise(there)
        await settled(lambda: is_at_step(controller, name, "initiate"))
        await controller.region.migration.moves.seen("m1", seen)
        if seen == "c1-lan":
            await controller.http.delete(f"/api/v1/moves/{name}")
        assert (await there.over(name))["state"] == "undone"
        await untouched(there)


async def test_old_connections_hold_the_old_machine(controller: Controller) -> None:
    async with ready(controller) as there:
        there.movers["c1"].deaf.add("leave")
        name = await synthesise(there, linger=600)
        await settled(lambda: is_at_step(controller, name, "leave"))
        assert running(there.there, "v1") == ["c1", "c2"]
        vm = await controller.get("/vms/v1")
        assert (vm["endpoint"], vm["address"], vm["move"]) == ("c2-lan", "10.2.0.3", name)
        await controller.refused(409, "/moves", {"vm": "v1", "endpoint": "c1-lan"}, "vm", "its old address lingers")
        there.movers["c1"].deaf.clear()
        await controller.post(f"/moves/{name}/finish", status=200)
        assert (await there.over(name))["state"] == "done"
        leave = [order for orders in there.movers["c1"].agent.orders for order in orders.orders if order.act == "leave"]
        assert [order.addresses.linger for order in (leave[0], leave[-1]) if order.addresses] == [600, 0]
        assert running(there.there, "v1") == ["c2"]


async def test_refusals_give_their_reasons(controller: Controller) -> None:
    async with town(controller) as there:
        path, body = "/moves/initiation", {"vm": "v1", "endpoint": "c2-lan"}
        await controller.refused(409, path, body, "endpoint", "the agent of c1 has not reported that it can")
        await there.movers["c1"].agent.moves(cloudlet="c1", machines=machines(there, "c1"), initiates=["simulated"])
        load = {"processors": 1, "busy": 0.0, "memory_free": 1 << 20}
        platform = {"version": "1", "board": "b", "accelerator": "a", "cpu": "c", "images": ["fedora"]}
        told = {"platforms": {"simulated": platform}, "load": load, "initiates": ["qemu"]}
        await there.movers["c2"].agent.moves(cloudlet="c2", **told)
        for reason in ("c2 has no driver simulated", "c2 has no image 'debian'", "c2 has 1.0 MiB of memory free"):
            await controller.refused(409, path, body, "endpoint", reason)
        await controller.refused(409, path, {"vm": "v1", "endpoint": "c1-lan"}, "endpoint", "at c1-lan of c1 already")
        await controller.refused(422, path, {"vm": "v1", "endpoint": "nowhere"}, "endpoint", "nowhere")
        await there.movers["c2"].agent.moves(cloudlet="c2", platforms={})
        await controller.refused(409, path, body, "endpoint", "the agent of c2 has not reported that it can")
        assert running(there.there, "v1") == ["c1"] and there.movers["c2"].done == []


async def test_a_vm_that_has_the_address_already_does_not_get_it_twice(controller: Controller) -> None:
    async with ready(controller) as there:
        assert (await there.over(await there.start(keep=True)))["address"] == "10.1.0.3"
        body = {"vm": "v1", "endpoint": "c1-lan"}
        await controller.refused(409, "/moves/initiation", body, "endpoint", "the address that it would get there")


@pytest.mark.parametrize(
    "wrong", [{"check": "tcp:0"}, {"check": "tcp:65536"}, {"check": "udp:80"}, {"check": "tcp:80/"}, {"handover": "x"}]
)
async def test_a_check_that_is_none(controller: Controller, wrong: dict[str, str]) -> None:
    async with town(controller):
        vm = {"name": "v2", "device": "m1", "endpoint": "c1-lan", "driver": "simulated", "image": "debian"}
        answer = await controller.http.post("/api/v1/vms", json=vm | {"memory": 1 << 28} | wrong)
        assert answer.status_code == 422 and next(iter(wrong)) in answer.text, answer.text


async def test_an_empty_check_is_removed(controller: Controller) -> None:
    async with town(controller):
        vm = {"name": "v2", "device": "m2", "endpoint": "c1-lan", "driver": "simulated", "image": "debian"}
        await controller.post("/devices", {"name": "m2", "mac": "02:00:5e:00:02:01"})
        assert (await controller.post("/vms", vm | {"memory": 1 << 28} | HOW))["check"] == HOW["check"]
        changed = await controller.http.patch("/api/v1/vms/v2", json={"check": ""})
        assert (changed.json()["check"], changed.json()["handover"]) == (None, HOW["handover"])


async def away(controller: Controller) -> None:
    """Let the VM's device be at c2, which is no neighbour of c1."""
    async with controller.region.database.write() as session:
        session.add(taken_to_be("m1", "c2-lan", now() - timedelta(minutes=1)))


async def test_by_policy_a_new_vm_starts_by_itself(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again after a while if it fails."""
    async with ready(controller) as there:
        await policy(controller, "synthesise")
        await away(controller)
        there.movers["c2"].broken = breaking("initiate", "no room")
        await controller.region.migration.follow_device.look()
        (decision,) = (await controller.get("/decisions"))["items"]
        assert (decision["course"], decision["move"] is not None) == ("synthesise", True)
        move = await there.over(decision["move"])
        assert (move["state"], move["asked_by"], move["anew"]) == ("undone", "deciding", True)
        await untouched(there)
        await controller.region.migration.follow_device.look()
        assert len((await controller.get("/moves"))["items"]) == 1, "not at once"
        there.movers["c2"].broken = lambda order: None
        with monkeypatch.context() as patch:
            patch.setattr(module, "now", lambda: now() + AGAIN)
            await controller.region.migration.follow_device.look()
        (latest, _) = (await controller.get("/moves"))["items"]
        assert (await there.over(latest["name"]))["state"] == "done"
        assert running(there.there, "v1") == ["c2"]
        own = (await controller.get("/audit", who="controller"))["items"]
        assert any(one["method"] == "synthesise" and one["path"].startswith("v1 to c2-lan: ") for one in own)


async def test_by_policy_an_operator_is_asked(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ready(controller) as there:
        await policy(controller, "ask")
        await away(controller)
        for _ in range(2):
            await controller.region.migration.follow_device.look()
            monkeypatch.setattr(module, "now", lambda: now() + AGAIN)
        (asked,) = (await controller.get("/events", type="initiation-asked"))["items"]
        assert "weft vm synthesise v1 c2-lan" in asked["text"], "once, and how"
        assert (await controller.get("/moves"))["items"] == []
        (waits,) = (await controller.get("/decisions", waiting="true"))["items"]
        assert waits["id"] == asked["data"]["decision"]
        name = await synthesise(there)
        assert (await controller.get("/decisions", waiting="true"))["items"] == []
        assert (await there.over(name))["state"] == "done"
        assert (await controller.get("/decisions", waiting="true"))["items"] == []


async def test_by_default_nobody_is_asked_and_nothing_starts(controller: Controller) -> None:
    async with ready(controller) as there:
        await away(controller)
        await controller.region.migration.follow_device.look()
        (decision,) = (await controller.get("/decisions"))["items"]
        assert (decision["course"], decision["move"]) == ("synthesise", None)
        assert (await controller.get("/moves"))["items"] == [] and running(there.there, "v1") == ["c1"]
        assert (await controller.get("/events", type="initiation-asked"))["items"] == []


async def test_without_an_agent_that_can_the_vm_stays(controller: Controller) -> None:
    async with town(controller):
        await policy(controller, "synthesise")
        await away(controller)
        await controller.region.migration.follow_device.look()
        (decision,) = (await controller.get("/decisions"))["items"]
        assert decision["course"] == "stay" and "has not reported that it can" in decision["reasons"][-1]


async def test_what_was_measured_is_decided_on(controller: Controller) -> None:
    """Between the two thresholds the VM moves if that is quicker than the start of a new VM was, not than the policy's
    guess."""
    async with ready(controller) as there:
        courses = []
        async with controller.region.database.write() as session:
            session.add_all([neighbour(200.0), neighbour(200.0, cloudlet="c2", neighbour="c1")])
        for seconds in (0.1, 1000.0, 1001.0):
            async with controller.region.database.write() as session:
                vm = await session.get(VmRow, "v1")
                assert vm is not None
                _, given, verdict = await consider(session, controller.region.intent, vm, "c2-lan")
                courses.append((str(verdict.course), given.initiation_seconds))
                row = InitiationRow(move=f"move-{seconds}", vm="v9", image="debian", driver="simulated")
                row.cloudlet, row.seconds = "c3", seconds
                session.add(row)
        assert courses[1][0] == "synthesise" and [given for _, given in courses] == [None, 0.1, 500.05]
        async with controller.region.database.read() as session:
            vm = await session.get(VmRow, "v1")
            assert vm is not None
            _, _, verdict = await consider(session, controller.region.intent, vm, "c2-lan")
        assert verdict.course == "move" and "a new VM takes 1000 s" in verdict.reasons[-1]
        assert there.there
