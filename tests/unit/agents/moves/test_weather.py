"""Failures: the controller is away at each point, drivers are slow or silent, agents restart."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agents.controller.client import ControllerRefused
from agents.hypervisors.simulated.faults import Kind
from agents.hypervisors.simulated.machines import Machines
from agents.moves.execution_context import ExecutionContext
from controller.wire.machines import MachineState
from controller.wire.moves import Act, MoveReport, Order
from tests.unit.agents.moves.region import WAY, Region, region

pytestmark = pytest.mark.slow


@pytest_asyncio.fixture
async def two(tmp_path: Path) -> AsyncIterator[Region]:
    async with region(tmp_path) as made:
        yield made


async def begun(two: Region, kind: Kind = "hangs", point: str = "switchover") -> int:
    """Begin a switchover that does not end and of which the controller has heard; return the order's number."""
    await two.until("switchover")
    two.c1.faults.set(point, kind, seconds=2.0)
    order = two.make("c1", "switchover")
    two.c1.order(order)
    await two.c1.struck()
    return order.number


@pytest.mark.parametrize(("name", "act"), WAY)
async def test_the_controller_is_away_for_an_act(two: Region, name: str, act: Act) -> None:
    await two.until(act)
    cloudlet = two.cloudlet(name)
    before = cloudlet.condition()
    cloudlet.ear.away = True
    order = two.make(name, act)
    cloudlet.order(order)
    await asyncio.sleep(1.0)
    if act in ("switchover", "activate"):
        assert cloudlet.condition() == before, "it was begun without the controller's word"
    cloudlet.ear.away = False
    assert (await cloudlet.ear.ended(order.number)).state == "done"


@pytest.mark.parametrize("point", ["switchover", "switchover.paused"])
async def test_a_source_that_is_not_heard_holds_the_machine_and_goes_on_when_it_is(
    two: Region, point: str, caplog: pytest.LogCaptureFixture
) -> None:
    number = await begun(two, point=point)
    two.c1.ear.away = True
    async with asyncio.timeout(20):
        while True:
            if "is held" in caplog.text:
                break
            await asyncio.sleep(0.01)
    await two.c1.becomes("paused")
    await asyncio.sleep(0.5)
    assert (two.c1.condition(), two.c2.condition()) == ("paused", "waiting")
    two.c1.ear.away = False
    assert (await two.c1.ear.ended(number)).state == "done"
    assert two.c1.condition() == "moved"


async def test_a_held_machine_runs_again_by_an_abort_alone(two: Region) -> None:
    number = await begun(two)
    two.c1.ear.away = True
    await two.c1.becomes("paused")
    two.c1.ear.gone.add(number)
    two.c1.ear.away = False
    await asyncio.sleep(0.5)
    assert two.c1.condition() == "paused"
    assert (await two.carry("c1", "abort")).state == "done"
    assert two.c1.condition() == "running"
    await asyncio.sleep(1.0)
    assert two.c1.condition() == "running", "the fence of an order that is not there any more"


async def test_a_switchover_may_take_longer_than_the_fence_as_long_as_it_is_heard_of(
    two: Region, caplog: pytest.LogCaptureFixture
) -> None:
    number = await begun(two, "slow")
    assert (await two.c1.ear.ended(number)).state == "done"
    assert "is held" not in caplog.text
    assert len([p for p in two.c1.ear.heard if p.number == number and p.state == "running"]) > 4


async def test_the_end_of_a_switchover_is_told_when_the_controller_is_back(two: Region) -> None:
    number = await begun(two, "slow")
    two.c1.ear.away = True
    await asyncio.sleep(0.1)
    two.c1.faults.clear()
    await two.c1.becomes("paused")
    two.c1.ear.away = False
    assert (await two.c1.ear.ended(number)).state == "done"


async def test_a_failed_switchover_is_told_and_not_tried_again(two: Region) -> None:
    await two.until("switchover")
    two.c1.faults.set("switchover.paused", "fails")
    order = two.make("c1", "switchover")
    two.c1.order(order)
    assert (await two.c1.ear.ended(order.number)).state == "failed"
    await two.c1.idle()
    await two.c1.stop()
    two.c1.start()
    two.c1.ear.heard.clear()
    two.c1.order(order)
    assert (await two.c1.ear.ended(order.number)).state == "failed"
    assert two.c1.condition() == "paused"


async def test_an_order_that_is_not_there_any_more_is_not_begun(two: Region) -> None:
    await two.until("switchover")
    order = two.make("c1", "switchover")
    two.c1.ear.gone.add(order.number)
    two.c1.order(order)
    await two.c1.idle()
    assert (two.c1.condition(), two.c2.condition()) == ("running", "waiting")
    assert not [p for p in two.c1.ear.heard if p.number == order.number]


@pytest.mark.parametrize("away", [False, True])
async def test_the_fence_stands_after_a_restart(two: Region, away: bool) -> None:
    """The controller is away, or has not answered yet."""
    await begun(two)
    two.c1.ear.away = away
    await two.c1.stop()
    assert two.c1.condition() == "running"
    two.c1.start()
    await two.c1.becomes("paused")


async def test_a_restart_goes_on_with_a_switchover(two: Region) -> None:
    number = await begun(two)
    await two.c1.stop()
    two.c1.start()
    two.c1.order(two.make("c1", "switchover", number=number))
    assert (await two.c1.ear.ended(number)).state == "done"


async def test_a_restart_into_orders_without_the_switchover_leaves_the_machine_held(two: Region) -> None:
    await begun(two)
    await two.c1.stop()
    two.c1.start()
    await asyncio.sleep(0)
    two.c1.order()
    await two.c1.becomes("paused")
    await two.c1.idle()
    await two.c1.stop()
    two.c1.start()
    assert (await two.carry("c1", "abort")).state == "done"
    assert two.c1.condition() == "running"


async def test_a_destination_runs_on_when_the_controller_goes_away(two: Region) -> None:
    await two.until("activate")
    two.c2.faults.set("activate", "slow", seconds=0.3)
    order = two.make("c2", "activate")
    two.c2.order(order)
    await two.c2.ear.until(lambda p: p.number == order.number)
    two.c2.ear.away = True
    await two.c2.becomes("running")
    await asyncio.sleep(1.0)
    assert two.c2.condition() == "running"
    two.c2.ear.away = False
    assert (await two.c2.ear.ended(order.number)).state == "done"


async def test_an_activation_that_fails_has_not_left_it_running(two: Region) -> None:
    await two.until("activate")
    two.c2.faults.set("activate", "fails")
    assert (await two.carry("c2", "activate")).state == "failed" and two.c2.condition() == "waiting"
    two.c2.faults.set("activate.after", "fails")
    assert (await two.carry("c2", "activate")).state == "done" and two.c2.condition() == "running"


async def test_what_may_run_after_an_activation_that_failed_is_ended(two: Region) -> None:
    """The source gets the machine back, so it must not run here, whatever the hypervisor does later."""
    await two.until("activate")
    Machines(two.c2.state).turn("vm1", frozen=True)
    two.c2.faults.set("abort", "fails")  # once
    assert (await two.carry("c2", "activate")).state == "failed" and two.c2.condition() == "gone"
    assert (await two.carry("c2", "abort")).state == "done"
    assert (await two.carry("c1", "abort")).state == "done" and two.c1.condition() == "running"


async def test_a_source_that_does_not_answer_is_told_so_and_taken_back_once_it_does(two: Region) -> None:
    await two.until("memory")
    Machines(two.c1.state).turn("vm1", frozen=True)
    assert (await two.carry("c1", "memory")).state == "failed"
    assert two.c1.ear.machines == {"vm1": "unresponsive"}
    assert (await two.carry("c2", "abort")).state == "done"
    assert (await two.carry("c1", "abort")).state == "failed"
    Machines(two.c1.state).turn("vm1", frozen=False)
    assert (await two.carry("c1", "abort")).state == "done"
    assert two.c1.condition() == "running" and two.c1.ear.machines == {"vm1": "running"}


async def test_what_fails_after_the_activation_is_said_with_its_success(two: Region) -> None:
    await two.until("activate")
    two.c2.faults.set("announce", "fails")
    ended = await two.carry("c2", "activate")
    assert (ended.state, ended.detail) == ("done", "it runs, but: simulated failure at announce")


@pytest.mark.parametrize("point", ["link", "link.after", "announce", "announce.after"])
async def test_whatever_is_raised_after_the_activation_is_said_with_its_success(two: Region, point: str) -> None:
    await two.until("activate")
    two.c2.faults.set(point, "garbles")
    ended = await two.carry("c2", "activate")
    assert (ended.state, two.c2.condition()) == ("done", "running")
    assert (
        ended.detail.startswith("it runs, but: a defect of the driver simulated") and "AttributeError" in ended.detail
    )


@pytest.mark.parametrize("kind", ["garbles", "fails", "refuses"])
async def test_a_driver_that_raises_after_it_has_run_the_machine_has_run_it(two: Region, kind: Kind) -> None:
    await two.until("activate")
    two.c2.faults.set("activate.after", kind)
    assert (await two.carry("c2", "activate")).state == "done" and two.c2.condition() == "running"


async def test_nothing_is_said_of_a_machine_that_nobody_can_look_at(two: Region) -> None:
    """The driver reports neither the end of the activation nor its machines: when it does, the agent reports the true
    state."""
    await two.until("activate")
    two.c2.faults.set("activate.after", "garbles")
    two.c2.faults.set("machines", "garbles", times=6)
    ended = await two.carry("c2", "activate")
    assert (ended.state, two.c2.condition()) == ("done", "running")


async def test_a_machine_that_runs_is_not_taken_back_because_its_order_comes_again(two: Region) -> None:
    """The machine runs since the first order; when the order is repeated, a step outside of the hypervisor fails."""
    await two.until("activate")
    assert (await two.carry("c2", "activate")).state == "done"
    two.c2.shut = True
    ended = await two.carry("c2", "activate")
    assert (ended.state, ended.detail) == ("done", "it runs, but: the door is shut")
    assert two.c2.condition() == "running"


async def test_a_machine_that_does_not_run_is_not_let_in_and_not_run(two: Region) -> None:
    await two.until("activate")
    two.c2.shut = True
    assert (await two.carry("c2", "activate")).state == "failed" and two.c2.condition() == "waiting"


async def test_an_address_that_is_gone_is_gone_whatever_the_gateway_does(
    two: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def part(place: ExecutionContext, order: Order) -> None:
        raise AttributeError("the gateway")

    await two.until("leave")
    monkeypatch.setattr(ExecutionContext, "part", part)
    ended = await two.carry("c2", "leave")
    assert ended.state == "done" and "may not have forgotten" in ended.detail


@pytest.mark.parametrize("point", ["activate.after", "link", "link.after", "announce", "announce.after"])
async def test_a_machine_that_ran_and_ended_at_once_has_been_activated(two: Region, point: str) -> None:
    """Others have seen the machine's activity: its older state at the source must never run again."""
    await two.until("activate")
    two.c2.faults.set(point, "dies")
    ended = await two.carry("c2", "activate")
    assert ended.state == "done" and ended.detail.startswith("it ran, and ended by itself (simulated"), ended
    assert f"the simulated machine died at {point}" in ended.detail
    assert two.c2.condition() == "stopped"
    two.c2.shut = True
    again = await two.carry("c2", "activate")
    assert again.state == "done" and "ended by itself" in again.detail, "whatever else fails the second time"
    assert two.c2.condition() == "stopped", "it does not begin anew"


async def test_a_machine_that_ended_before_it_ran_is_the_sources_again(two: Region) -> None:
    await two.until("activate")
    two.c2.faults.set("activate", "dies")
    assert (await two.carry("c2", "activate")).state == "failed" and two.c2.condition() == "stopped"
    assert (await two.carry("c2", "abort")).state == "done"
    assert (await two.carry("c1", "abort")).state == "done" and two.c1.condition() == "running"


async def test_a_machine_that_was_run_and_does_not_answer_is_not_ended(two: Region) -> None:
    await two.until("activate")
    Machines(two.c2.state).turn("vm1", ran=True, frozen=True)
    ended = await two.carry("c2", "activate")
    assert (ended.state, ended.detail) == ("done", "it runs, but: vm1 does not answer; vm1 does not answer")
    Machines(two.c2.state).turn("vm1", frozen=False)
    assert two.c2.condition() != "gone"


async def test_a_driver_that_does_not_list_its_machines_does_not_hold_up_reports(two: Region) -> None:
    await two.carry("c1", "start", move="m0")
    two.c1.faults.set("machines", "hangs", times=1000)
    ended = await two.carry("c1", "abort", move="m9")
    assert ended.state == "done" and two.c1.ear.machines == {"vm1": "running"}


async def test_a_driver_that_has_listed_nothing_since_the_start_is_named(two: Region) -> None:
    """A running machine must not count as gone because nobody could look."""
    await two.carry("c1", "start", move="m0")
    await two.c1.stop()
    two.c1.faults.set("machines", "fails", times=1000)
    two.c1.start()
    await two.carry("c1", "abort", move="m8")
    assert (two.c1.ear.machines, two.c1.ear.unlisted) == ({}, ["simulated"])
    two.c1.faults.clear()
    await two.carry("c1", "abort", move="m9")
    assert (two.c1.ear.machines, two.c1.ear.unlisted) == ({"vm1": "running"}, [])


async def test_nobody_waits_for_a_driver_while_the_machine_is_paused(
    two: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(place: ExecutionContext) -> list[MachineState]:
        await asyncio.Event().wait()
        return []

    await two.until("switchover")
    monkeypatch.setattr(ExecutionContext, "machines", never)
    assert (await two.carry("c1", "switchover")).state == "done"


async def test_an_answer_that_is_not_understood_is_given_up(
    two: Region, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def moves(report: MoveReport) -> None:
        raise ControllerRefused(422, "what is this?")

    monkeypatch.setattr(two.c1.ear, "moves", moves)
    two.c1.order(two.make("c1", "start"))
    await two.c1.idle()
    assert "does not understand" in caplog.text and two.c1.condition() == "running"


async def test_a_machine_that_has_gone_is_said_so_until_the_controller_knows(two: Region) -> None:
    await two.carry("c1", "start", move="m0")
    two.c1.ear.away = True
    Machines(two.c1.state).remove("vm1")
    await asyncio.sleep(2.5)
    two.c1.ear.away = False
    async with asyncio.timeout(10):
        await two.c1.ear.news()
    assert two.c1.ear.machines == {"vm1": "gone"}


async def test_machines_are_reported_when_they_change(two: Region) -> None:
    await two.carry("c1", "start", move="m0")
    before = len(two.c1.ear.heard)
    assert two.c1.ear.machines == {"vm1": "running"}
    Machines(two.c1.state).turn("vm1", condition="stopped")
    async with asyncio.timeout(10):
        while two.c1.ear.machines != {"vm1": "stopped"}:
            await two.c1.ear.news()
    assert len(two.c1.ear.heard) == before
