"""Moves that succeed, with every call made once, twice, and after a restart."""

import asyncio

import pytest

from agents.hypervisors.hypervisor import Fenced, HypervisorError, Networked, Refused
from controller.wire.machines import Condition
from tests.conformance.pair import STEPS, Pair, Step

AFTER: dict[Step, tuple[Condition, Condition]] = {
    "start": ("running", "gone"),
    "prepare": ("running", "waiting"),
    "disk": ("running", "waiting"),
    "memory": ("running", "waiting"),
    "switchover": ("moved", "waiting"),
    "activate": ("moved", "running"),
    "discard": ("gone", "running"),
}


@pytest.mark.parametrize("how", ["once", "twice", "with restarts"])
async def test_every_step_leaves_what_it_says(pair: Pair, how: str) -> None:
    before = ""
    for step in STEPS:
        await pair.take(step)
        assert await pair.conditions() == AFTER[step], step
        if how == "with restarts":
            pair.restart()
            assert await pair.conditions() == AFTER[step], f"{step}, and a restart"
        if how != "once":
            await pair.take(step)
            assert await pair.conditions() == AFTER[step], f"{step}, twice"
            before = before or await pair.identity(pair.here)
        if step not in ("activate", "discard"):
            arrived = await pair.within(pair.there.arrived(pair.name, "m1"))
            assert arrived is (step == "switchover"), step
    assert before == "" or await pair.identity(pair.there) == before


async def test_at_no_time_it_runs_twice(pair: Pair) -> None:
    await pair.up_to("prepare")

    async def watch() -> None:
        while True:
            await pair.conditions()
            await asyncio.sleep(0.01)

    watching = asyncio.create_task(watch())
    for step in STEPS[STEPS.index("prepare") + 1 :]:
        await pair.take(step)
        assert not watching.done(), watching.exception()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_there_and_back_again(pair: Pair) -> None:
    await pair.take("start")
    before = await pair.identity(pair.here)
    for move in ("m1", "m2", "m3"):
        for step in STEPS[1:]:
            await pair.take(step, move)
            await pair.conditions()
        pair.turn_round()
        assert await pair.identity(pair.here) == before
    assert await pair.conditions() == ("running", "gone")


async def test_a_disk_is_offered_where_there_is_one(pair: Pair) -> None:
    await pair.up_to("prepare")
    assert (pair.where().disk is not None) == (pair.machine.disk is not None)
    assert pair.where().memory and all(pair.where().memory)


async def test_a_target_leads_to_its_peer_alone(pair: Pair) -> None:
    await pair.up_to("prepare")
    if not isinstance(pair.here, Networked):
        pytest.skip("the driver's targets are no network addresses")
    pair.here.check(pair.machine, pair.where(), pair.bench.addresses[1])
    with pytest.raises(Refused):
        pair.here.check(pair.machine, pair.where(), "203.0.113.77")


async def test_the_same_move_gets_the_same_target(pair: Pair) -> None:
    await pair.up_to("prepare")
    assert await pair.prepare("m1") == pair.where()
    pair.restart()
    assert await pair.prepare("m1") == pair.where()


async def test_figures_say_what_was_carried(pair: Pair) -> None:
    await pair.up_to("prepare")
    await pair.take("disk")
    memory = await pair.take("memory")
    if (await pair.can()).live:
        assert memory.done and memory.total and memory.wire and memory.done <= memory.total
    switchover = await pair.take("switchover")
    assert switchover.paused_ms is not None
    assert (await pair.take("switchover")) == switchover


async def test_another_move_does_not_get_a_machine_that_waits(pair: Pair) -> None:
    await pair.up_to("prepare")
    with pytest.raises(Fenced):
        await pair.prepare("m2")
    assert await pair.prepare("m1") == pair.where()


async def test_nobody_prepares_for_what_runs_there(pair: Pair) -> None:
    await pair.take("start")
    pair.turn_round()
    with pytest.raises(Fenced):
        await pair.prepare("m1")
    assert await pair.condition(pair.there) == "running"


async def test_what_waits_is_not_started_nor_discarded(pair: Pair) -> None:
    await pair.up_to("prepare")
    with pytest.raises(Fenced):
        await pair.within(pair.there.start(pair.machine, pair.bench.attachment, "a"))
    with pytest.raises(Fenced):
        await pair.within(pair.there.discard(pair.name))
    await pair.within(pair.there.hold(pair.name))
    assert await pair.conditions() == ("running", "waiting")


async def test_what_has_moved_is_not_started(pair: Pair) -> None:
    await pair.up_to("switchover")
    with pytest.raises(Fenced):
        await pair.take("start")
    pair.restart()
    with pytest.raises(Fenced):
        await pair.take("start")
    assert await pair.conditions() == ("moved", "waiting")


@pytest.mark.parametrize("step", ["prepare", "disk", "memory"])
async def test_what_has_not_arrived_is_not_activated(pair: Pair, step: Step) -> None:
    await pair.up_to(step)
    with pytest.raises(Fenced):
        await pair.take("activate")
    assert await pair.conditions() == ("running", "waiting")


async def test_what_has_arrived_is_activated_by_its_own_move_alone(pair: Pair) -> None:
    await pair.up_to("switchover")
    with pytest.raises(Fenced):
        await pair.within(pair.there.activate(pair.name, "m2"))
    assert await pair.conditions() == ("moved", "waiting")
    await pair.take("activate")
    assert await pair.conditions() == ("moved", "running")


async def test_another_move_does_not_switch_over(pair: Pair) -> None:
    await pair.up_to("memory")
    with pytest.raises(HypervisorError):
        await pair.within(pair.here.switchover(pair.name, "m2"))
    assert await pair.conditions() == ("running", "waiting")
