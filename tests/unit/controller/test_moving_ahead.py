"""Copies of VMs ahead of a move: the VM stays, and a move to there finds the copies."""

from typing import Any

import pytest

from controller.wire.moves import Order
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.fake_mover import FIGURES, running, settled
from tests.unit.controller.moving_town import Town, is_at_step, town

pytestmark = pytest.mark.slow

PAGES = {"zero": 10, "same": 0, "known": 5, "delta": 0, "literal": 5}


def thin(order: Order) -> dict[str, Any] | None:
    """Report, as `broken` of a mover, that the memory went over a thin line."""
    return {"figures": FIGURES["memory"] | {"pages": PAGES}} if order.act == "memory" else None


async def keeping(controller: Controller) -> None:
    """Apply a policy by which copies are kept."""
    text = "apiVersion: weft/v1\nvcps: {blue: {members: [c1-lan, c2-lan]}}\nmigration: {keep_seconds: 3600}\n"
    applied = await controller.http.post(
        "/api/v1/policy/apply", content=text, headers={"content-type": "application/yaml"}
    )
    assert applied.status_code == 200, applied.text


async def prepare(town_: Town, endpoint: str = "c2-lan") -> str:
    town_.movers["c1"].broken = thin
    return str((await town_.controller.post("/moves/ahead", {"vm": "v1", "endpoint": endpoint}))["name"])


async def test_the_vm_stays_and_the_copies_are_known(controller: Controller) -> None:
    async with town(controller) as town_:
        await keeping(controller)
        move = await town_.over(await prepare(town_))
        assert (move["state"], move["reason"], move["ahead"], move["at"]) == ("done", "", True, "c1-lan"), move
        assert running(town_.there, "v1") == ["c1"] and ("c2", "v1") not in town_.there
        assert [(step["step"], step["undoing"]) for step in move["steps"] if step["state"] == "done"] == [
            (step, False) for step in ("authorise", "prepare", "memory", "abort", "abort", "normal")
        ]
        vm = await controller.get("/vms/v1")
        assert (vm["endpoint"], vm["address"], vm["move"]) == ("c1-lan", "10.1.0.3", None)
        assert (await controller.get("/profiles"))["items"] == []
        said = [event["text"] for event in (await controller.get("/events", type="move-done"))["items"]]
        assert said and "and a copy of it at c2-lan" in said[0]
        assert 'weft_moves_ended_total{state="copied"} 1.0' in (await controller.http.get("/metrics")).text
        assert (await town_.over(await town_.start()))["state"] == "done"


async def test_a_move_does_not_wait_for_a_copy(controller: Controller) -> None:
    async with town(controller) as town_:
        await keeping(controller)
        town_.movers["c1"].deaf.add("memory")
        copy = await prepare(town_, "c3-lan")
        await settled(lambda: is_at_step(controller, copy, "memory"))
        assert (await controller.get("/vms/v1"))["move"] == copy
        await controller.refused(409, "/vms/v1/stop", {}, None, "v1 is being moved")
        await controller.refused(422, "/moves", {"vm": "v1", "endpoint": "nowhere"}, "endpoint", "nowhere")
        assert (await controller.get(f"/moves/{copy}"))["state"] == "moving", "a move that cannot be ends no copy"
        town_.movers["c1"].deaf.clear()
        town_.movers["c3"].deaf.add("memory")
        move = await town_.over(await town_.start())
        assert (move["state"], move["destination"]) == ("done", "c2"), move
        copied = await controller.get(f"/moves/{copy}")
        assert (copied["state"], copied["reason"]) == ("undone", "the VM is to move")


async def test_a_policy_that_keeps_nothing(controller: Controller) -> None:
    async with town(controller):
        answer = await controller.http.post("/api/v1/moves/ahead", json={"vm": "v1", "endpoint": "c2-lan"})
        problem(answer, 409, "vm", "migration.keep_seconds is 0 in the policy")


async def test_drivers_that_keep_nothing(controller: Controller) -> None:
    async with town(controller) as town_:
        await keeping(controller)
        copy = await controller.post("/moves/ahead", {"vm": "v1", "endpoint": "c2-lan"})
        move = await town_.over(str(copy["name"]))
        assert move["state"] == "undone" and "no thin line" in move["reason"], move
        assert running(town_.there, "v1") == ["c1"]
