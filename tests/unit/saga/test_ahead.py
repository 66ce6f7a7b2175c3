"""A move that only copies, ahead of another one: the VM stays, and nothing is taken for it."""

import pytest

from controller.core.saga import Admitted, Cancel, Phase, Step, Wandered
from controller.core.saga.steps import Side
from tests.unit.saga.world import World, plan

BOTH: tuple[Side, ...] = ("source", "destination")


def copying(*, disk: bool = True) -> World:
    """Return a world in which the memory is being copied ahead of a move."""
    world = World.of(plan(ahead=True, disk=disk))
    world.take(Admitted())
    while world.saga.step is not Step.MEMORY:
        stride(world, *BOTH)
    return world


def stride(world: World, *sides: Side) -> None:
    world.controller("done")
    for side in sides:
        world.look(side)
        world.act(side, "done")
        world.report(side, answered=True)


@pytest.mark.parametrize("disk", [True, False])
def test_the_vm_stays_and_the_move_is_done(disk: bool) -> None:
    world = copying(disk=disk)
    world.settle()
    assert (world.saga.phase, world.saga.reason, world.saga.here.endpoint) == (Phase.DONE, "", "c1-lan")
    assert world.running == ["source"] and world.agents["destination"].vm == "none"
    assert not world.pool and not world.held
    assert {note.step for note in world.notes if note.state == "done"} <= {
        Step.AUTHORISE, Step.PREPARE, Step.DISK, Step.MEMORY, Step.ABORT, Step.NORMAL,
    }  # fmt: skip
    assert not any(note.undoing for note in world.notes)


def test_the_sources_end_comes_first() -> None:
    world = copying()
    stride(world, "source")
    assert [(task.side, task.step) for task in world.saga.tasks] == [("source", Step.ABORT)]
    stride(world, "source")
    assert [(task.side, task.step) for task in world.saga.tasks] == [("destination", Step.ABORT)]


def test_drivers_that_keep_nothing_are_told_of() -> None:
    world = copying()
    world.thin = False
    world.settle()
    assert world.saga.phase is Phase.UNDONE and "no thin line" in world.saga.reason
    assert world.running == ["source"] and world.agents["destination"].vm == "none"


@pytest.mark.parametrize("where", ["c2-lan", "c3-lan"])
def test_it_does_not_matter_where_the_device_is(where: str) -> None:
    world = copying()
    world.take(Wandered(where))
    world.settle()
    assert (world.saga.phase, world.saga.reason) == (Phase.DONE, "")


def test_it_can_be_cancelled() -> None:
    world = copying()
    world.take(Cancel("no need"))
    world.settle()
    assert (world.saga.phase, world.saga.reason) == (Phase.UNDONE, "no need")
