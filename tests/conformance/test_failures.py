"""Moves that are aborted, cut off, or lose a machine."""

import asyncio

import pytest

from agents.hypervisors.hypervisor import HypervisorError
from tests.conformance.pair import ELSEWHERE, Pair, Step

BEFORE_THE_END: tuple[Step, ...] = ("start", "prepare", "disk", "memory", "switchover")


@pytest.mark.parametrize("restarted", [False, True], ids=["", "restarted"])
@pytest.mark.parametrize("step", BEFORE_THE_END)
async def test_aborted_after_any_step_it_is_as_if_there_had_been_no_move(
    pair: Pair, step: Step, restarted: bool
) -> None:
    await pair.take("start")
    before = await pair.identity(pair.here)
    await pair.up_to(step)
    if restarted:
        pair.restart()
    for _ in range(2):
        await pair.abort()
        assert await pair.conditions() == ("running", "gone")
    assert await pair.identity(pair.here) == before
    assert not await pair.within(pair.there.arrived(pair.name, "m1"))


async def test_after_an_abort_the_next_move_succeeds(pair: Pair) -> None:
    await pair.up_to("memory")
    await pair.abort()
    await pair.up_to("activate", "m2")
    assert await pair.conditions() == ("moved", "running")


async def test_a_destination_that_was_activated_can_be_taken_back(pair: Pair) -> None:
    await pair.up_to("activate")
    await pair.within(pair.there.abort(pair.name, "m1"))
    assert await pair.conditions() == ("moved", "gone")
    await pair.within(pair.here.abort(pair.name, "m1"))
    assert await pair.conditions() == ("running", "gone")


@pytest.mark.parametrize("step", ["prepare", "memory", "switchover", "activate"])
async def test_another_moves_abort_touches_nothing(pair: Pair, step: Step) -> None:
    await pair.up_to(step)
    before = await pair.conditions()
    for hypervisor in (pair.there, pair.here):
        try:
            await pair.within(hypervisor.abort(pair.name, "m2"))
        except HypervisorError:
            continue  # to say so is as good
    assert await pair.conditions() == before


async def test_held_in_a_move_it_can_be_aborted(pair: Pair) -> None:
    await pair.up_to("memory")
    await pair.within(pair.here.hold(pair.name))
    assert await pair.conditions() == ("paused", "waiting")
    pair.restart()
    await pair.abort()
    assert await pair.conditions() == ("running", "gone")


async def test_held_in_a_move_it_is_switched_over_or_not_but_does_not_run(pair: Pair) -> None:
    await pair.up_to("memory")
    await pair.within(pair.here.hold(pair.name))
    try:
        await pair.take("switchover")
    except HypervisorError:
        assert (await pair.conditions())[0] == "paused"
    else:
        assert await pair.conditions() == ("moved", "waiting")


async def test_held_where_it_has_moved_from_it_stays_moved(pair: Pair) -> None:
    await pair.up_to("switchover")
    await pair.within(pair.here.hold(pair.name))
    assert await pair.conditions() == ("moved", "waiting")


@pytest.mark.parametrize("step", ["disk", "memory", "switchover"])
async def test_without_a_destination_the_source_never_moves(pair: Pair, step: Step) -> None:
    steps: list[Step] = ["start", "prepare", "disk", "memory", "switchover"]
    for one in steps[: steps.index(step)]:
        await pair.take(one)
    await pair.within(pair.there.abort(pair.name, "m1"))
    if step == "disk" and pair.machine.disk is None:
        pytest.skip("the bench's machine has no disk")
    with pytest.raises(HypervisorError):
        await pair.take(step)
    assert await pair.condition(pair.here) in ("running", "paused")
    await pair.abort()
    assert await pair.conditions() == ("running", "gone")


async def test_a_switchover_before_the_memory_is_none(pair: Pair) -> None:
    await pair.up_to("prepare")
    with pytest.raises(HypervisorError):
        await pair.take("switchover")
    assert (await pair.conditions())[0] in ("running", "paused")
    await pair.abort()
    assert await pair.conditions() == ("running", "gone")


@pytest.mark.parametrize("end", ["again", "aborted"])
async def test_a_transfer_that_is_cut_off_leaves_the_source_running(pair: Pair, end: str) -> None:
    await pair.up_to("disk")
    transfer = asyncio.create_task(pair.take("memory"))
    await asyncio.wait({transfer}, timeout=0.02)
    transfer.cancel()
    await asyncio.gather(transfer, return_exceptions=True)
    pair.restart()
    assert (await pair.conditions())[0] == "running"
    if end == "again":
        try:
            await pair.take("memory")
        except HypervisorError:  # the destination did not survive it: then from the beginning
            await pair.abort()
            await pair.up_to("memory", "m2")
        assert await pair.conditions() == ("running", "waiting")
    await pair.abort("m1")
    await pair.abort("m2")
    assert await pair.conditions() == ("running", "gone")


@pytest.mark.parametrize("end", ["again", "aborted"])
@pytest.mark.parametrize("seconds", [0.0, 0.005, 0.02, 0.1])
async def test_a_switchover_that_is_cut_off_is_finished_or_aborted(pair: Pair, seconds: float, end: str) -> None:
    await pair.up_to("memory")
    switchover = asyncio.create_task(pair.take("switchover"))
    await asyncio.wait({switchover}, timeout=seconds)
    switchover.cancel()
    await asyncio.gather(switchover, return_exceptions=True)
    pair.restart()
    here, there = await pair.conditions()
    assert here in ("running", "paused", "moved") and there != "running"
    if end == "aborted":
        await pair.abort()
        assert await pair.conditions() == ("running", "gone")
        return
    try:
        await pair.take("switchover")
    except HypervisorError:
        assert (await pair.conditions())[0] in ("running", "paused")
        await pair.abort()
        assert await pair.conditions() == ("running", "gone")
    else:
        assert await pair.conditions() == ("moved", "waiting")


@pytest.mark.parametrize("step", ["prepare", "memory"])
async def test_a_source_that_crashes_is_not_running(pair: Pair, step: Step) -> None:
    if pair.bench.kill is None:
        pytest.skip("the bench cannot kill a machine")
    await pair.up_to(step)
    await pair.within(pair.bench.kill(pair.here, pair.name))
    with pytest.raises(HypervisorError):
        await pair.take("switchover")
    assert (await pair.conditions())[0] in ELSEWHERE
    await pair.within(pair.there.abort(pair.name, "m1"))
    assert (await pair.conditions())[1] == "gone"


@pytest.mark.parametrize("step", ["prepare", "memory", "switchover"])
async def test_a_destination_that_crashes_cannot_be_activated(pair: Pair, step: Step) -> None:
    if pair.bench.kill is None:
        pytest.skip("the bench cannot kill a machine")
    await pair.up_to(step)
    await pair.within(pair.bench.kill(pair.there, pair.name))
    with pytest.raises(HypervisorError):
        await pair.take("activate")
    assert not await pair.within(pair.there.arrived(pair.name, "m1")), "it never ran there"
    await pair.abort()
    assert await pair.conditions() == ("running", "gone")


async def test_a_destination_that_crashes_once_it_ran_has_been_activated(pair: Pair) -> None:
    if pair.bench.kill is None:
        pytest.skip("the bench cannot kill a machine")
    await pair.up_to("activate")
    await pair.within(pair.bench.kill(pair.there, pair.name))
    await pair.becomes(pair.there, "stopped")
    pair.restart()
    assert await pair.within(pair.there.arrived(pair.name, "m1")), "it ran there"
    await pair.take("activate")
    assert await pair.conditions() == ("moved", "stopped"), "it does not begin anew"


async def test_a_source_that_does_not_answer_does_not_move_and_is_aborted_once_it_does(pair: Pair) -> None:
    await pair.up_to("memory")
    await pair.freeze(pair.here)
    with pytest.raises(HypervisorError):
        await pair.take("switchover")
    await pair.within(pair.there.abort(pair.name, "m1"))
    with pytest.raises(HypervisorError):
        await pair.within(pair.here.abort(pair.name, "m1"))
    await pair.becomes(pair.here, "unresponsive")
    await pair.freeze(pair.here, frozen=False)
    await pair.abort()
    assert await pair.conditions() == ("running", "gone")


async def test_a_destination_that_does_not_answer_is_ended_by_an_abort(pair: Pair) -> None:
    await pair.up_to("switchover")
    await pair.freeze(pair.there)
    with pytest.raises(HypervisorError):
        await pair.take("activate")
    with pytest.raises(HypervisorError):
        await pair.within(pair.there.arrived(pair.name, "m1"))
    await pair.abort()
    assert await pair.conditions() == ("running", "gone")


async def test_a_source_that_does_not_answer_any_more_is_discarded(pair: Pair) -> None:
    await pair.up_to("activate")
    await pair.freeze(pair.here)
    await pair.take("discard")
    assert await pair.conditions() == ("gone", "running")
