"""Initiations: the VM starts anew at the destination, and the source's machine serves until that has an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.saga import Admitted, Cancel, Gone, Hurry, Phase, Step, Wandered, revocable
from controller.core.saga.steps import TRIES, Side
from controller.wire.initiations import Initiation
from tests.unit.saga.world import World, plan

SIDES: tuple[Side, ...] = ("source", "destination")
OLD, NEW = "10.1.0.3", "10.2.0.3"


def world_at(step: Step | None = None, *, linger: float = 300.0, borrowed: str | None = None) -> World:
    """Return a world with an initiation that has reached the step; None: it waits for its turn."""
    world = World.of(plan(initiation=Initiation(check="tcp:80"), linger=linger, borrowed=borrowed))
    if step is None:
        return world
    world.take(Admitted())
    while world.saga.step is not step:
        assert not world.saga.phase.over
        if world.saga.task("controller") is not None:
            world.controller("done")
        else:
            one_by_one(world)
    return world


def one_by_one(world: World) -> None:
    """Let that side which has an order carry it out."""
    (side,) = (side for side in SIDES if world.saga.task(side) is not None)
    world.look(side)
    world.act(side, "done")
    world.report(side, answered=True)


def stride(world: World, **outcomes: str) -> None:
    """Let everybody do what is to be done now."""
    world.controller(outcomes.get("controller", "done"))
    for side in SIDES:
        world.look(side)
        world.act(side, outcomes.get(side, "done"))
        world.report(side, answered=True)


def serves_at_the_source(world: World) -> None:
    assert (world.saga.here.endpoint, world.saga.address, world.saga.serving) == ("c1-lan", OLD, "a")
    assert world.agents["source"].vm == "running"


def test_the_course_of_an_initiation() -> None:
    world = world_at()
    world.settle()
    saga = world.saga
    assert (saga.phase, saga.reason, saga.here.endpoint) == (Phase.DONE, "", "c2-lan")
    assert (saga.address, saga.addresses, saga.serving) == (NEW, (NEW,), "b")
    assert (world.agents["source"].vm, world.agents["destination"].vm) == ("none", "running")
    assert world.pool and world.held
    done = [note.step for note in world.notes if note.state == "done"]
    assert done == ["authorise", "connect", "reserve", "initiate", "leave", "discard", "normal"]
    assert {note.state for note in world.notes} == {"running", "done"}


def test_both_machines_serve_while_the_old_address_lingers() -> None:
    world = world_at(Step.LEAVE)
    assert (world.saga.here.endpoint, world.saga.address, world.saga.serving) == ("c2-lan", NEW, "b")
    assert set(world.saga.addresses) == {OLD, NEW} and world.running == ["source", "destination"]
    assert world.saga.leaving and not revocable(world.saga)
    world.look("source")
    wanted = world.agents["source"].order
    assert wanted is not None and (wanted.act, wanted.endpoint) == ("leave", "c1-lan")
    assert wanted.addresses is not None and wanted.addresses.linger == 300.0
    world.take(Hurry("nobody waits"))
    world.look("source")
    wanted = world.agents["source"].order
    assert wanted is not None and wanted.addresses is not None and wanted.addresses.linger == 0.0


@pytest.mark.parametrize("step", [None, Step.AUTHORISE, Step.CONNECT, Step.RESERVE, Step.INITIATE])
@pytest.mark.parametrize("why", [Cancel("no need"), Wandered("c3-lan")])
def test_before_the_service_answers_all_can_be_undone(step: Step | None, why: Cancel | Wandered) -> None:
    world = world_at(step)
    world.take(why)
    assert world.agents["source"].order is None, "the source is left alone"
    world.settle()
    assert world.saga.phase is Phase.UNDONE
    serves_at_the_source(world)
    assert world.agents["destination"].vm == "none" and not world.pool and not world.held


def test_a_service_that_does_not_answer_is_tried_again_and_given_up() -> None:
    world = world_at(Step.INITIATE)
    for _ in range(1000):
        if world.saga.phase.over:
            break
        stride(world, destination="done" if world.saga.step is Step.ABORT else "no answer at port 80")
        world.wait(5.0)
    assert world.saga.phase is Phase.UNDONE and "no answer at port 80" in world.saga.reason
    assert sum(note.step is Step.INITIATE and note.state == "failed" for note in world.notes) == TRIES
    serves_at_the_source(world)
    assert world.agents["destination"].vm == "none" and not world.pool and not world.held


def test_a_refusal_is_not_tried_again() -> None:
    world = world_at(Step.INITIATE)
    stride(world, destination="refused")
    world.settle()
    assert world.saga.phase is Phase.UNDONE and world.agents["destination"].vm == "none"
    assert sum(note.step is Step.INITIATE and note.state == "running" for note in world.notes) == 1
    serves_at_the_source(world)


def test_a_destination_without_a_word_clears_up_when_it_is_back() -> None:
    world = world_at(Step.INITIATE)
    world.look("destination")
    world.act("destination", "done")
    world.agents["destination"].linked = False
    for _ in range(200):
        world.controller("done")
        world.wait(10.0)
    assert world.saga.phase is Phase.UNDONE and world.saga.task("destination") is not None
    serves_at_the_source(world)
    world.agents["destination"].linked = True
    stride(world)
    assert world.agents["destination"].vm == "none" and world.saga.step is Step.NORMAL


def test_no_common_pool_is_needed() -> None:
    world = world_at(Step.CONNECT)
    stride(world, controller="refused")
    world.settle()
    assert (world.saga.phase, world.saga.reason, world.pool) == (Phase.DONE, "", False)
    assert world.agents["source"].vm == "none"


def test_a_source_without_a_word_loses_its_machine_when_it_is_back() -> None:
    world = world_at(Step.LEAVE)
    world.agents["source"].linked = False
    for _ in range(100):
        world.controller("done")
        world.wait(10.0)
    assert (world.saga.phase, world.saga.swapped) == (Phase.DONE, False)
    assert (world.saga.address, world.saga.here.endpoint) == (NEW, "c2-lan")
    world.agents["source"].linked = True
    stride(world)
    assert world.saga.swapped and world.saga.step is Step.NORMAL and world.running == ["destination"]


@pytest.mark.parametrize("step", [Step.LEAVE, Step.DISCARD])
def test_a_source_that_was_removed_is_not_waited_for(step: Step) -> None:
    world = world_at(step)
    world.take(Gone("source"))
    assert (world.saga.phase, world.saga.address) == (Phase.DONE, NEW)


def test_a_borrowed_pool_is_left() -> None:
    world = world_at(borrowed="blue")
    world.settle()
    assert world.saga.phase is Phase.DONE and not world.borrowed and world.saga.returned


ACTIONS = st.sampled_from(["work", "look", "act", "report", "lost", "crash", "cut", "heal", "wait", "cancel", "wander"])


@given(
    st.lists(st.tuples(ACTIONS, st.sampled_from(SIDES), st.sampled_from(["done", "failed", "refused"])), max_size=60)
)
def test_whatever_fails_the_service_is_always_at_its_place(actions: list[tuple[str, Side, str]]) -> None:
    """Until the new machine's service answers, the old one runs; afterwards the new one does. At the end there is one
    machine."""
    world = world_at()
    world.take(Admitted())
    for action, side, outcome in actions:
        agent = world.agents[side]
        match action:
            case "work":
                world.controller(outcome)
            case "look":
                world.look(side)
            case "act":
                world.act(side, outcome)
            case "report" | "lost":
                world.report(side, answered=action == "report")
            case "crash":
                agent.crash()
            case "cut" | "heal":
                agent.linked = action == "heal"
            case "wait":
                world.wait(45.0)
            case "cancel":
                world.take(Cancel("no need"))
            case _:
                world.take(Wandered("c3-lan"))
        assert ("destination" if world.saga.placed else "source") in world.running
    world.settle()
    assert world.saga.phase.over and world.running == ["destination" if world.saga.placed else "source"]
    assert world.held == world.saga.placed
