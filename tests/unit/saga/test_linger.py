"""The old address stays until the last connection ends; only its own time, or a need for the VM elsewhere, ends it
earlier."""

import pytest

from controller.core.saga import Event, Hurry, Phase, Said, Step, Wandered, order
from tests.unit.saga.test_faults import at, settled
from tests.unit.saga.world import World


def lingering() -> World:
    """Return a world in which the old address stays for 300 s, as the agent reports."""
    world = at(Step.LEAVE, linger=300.0)
    _says(world)
    return world


def _says(world: World) -> None:
    task = world.saga.task("destination")
    assert task is not None
    world.take(Said("destination", task.number, "running"))


def _wanted(world: World) -> tuple[int, float]:
    wanted = order(world.saga, "destination")
    assert wanted is not None and wanted.act == "leave" and wanted.addresses is not None
    return wanted.number, wanted.addresses.linger


def test_the_vm_is_known_by_its_new_address_meanwhile() -> None:
    world = lingering()
    assert (world.saga.address, world.saga.serving) == ("10.2.0.3", "b")
    world.take(Said("destination", _wanted(world)[0], "refused", "it will not go"))
    assert (world.saga.address, world.saga.serving) == ("10.1.0.3", "a"), "the old one could not go"
    assert settled(world).saga.phase is Phase.DONE


@pytest.mark.parametrize("event", [Hurry("an operator"), Wandered("c3-lan"), Wandered("c1-lan")])
def test_it_is_hurried_once(event: Event) -> None:
    world = lingering()
    number, seconds = _wanted(world)
    assert seconds == 300.0
    world.take(event)
    assert _wanted(world) == (number + 1, 0.0)
    for again in (event, Hurry("again")):
        world.take(again)
    assert _wanted(world) == (number + 1, 0.0)
    assert settled(world).saga.reason == "" and world.saga.swapped


def test_a_device_that_is_where_the_vm_is_hurries_nobody() -> None:
    world = lingering()
    before = world.saga
    world.take(Wandered("c2-lan"))
    assert world.saga == before


@pytest.mark.parametrize("step", [Step.MEMORY, Step.ACTIVATE, Step.JOIN, Step.DISCARD])
def test_nothing_else_is_hurried(step: Step) -> None:
    world = at(step, linger=300.0)
    before = world.saga
    world.take(Hurry("too early, or too late"))
    assert world.saga == before


def test_an_agent_that_begins_to_wait_anew_does_not_wait_for_ever() -> None:
    world = lingering()
    number, _ = _wanted(world)
    for _ in range(60):
        world.wait(10.0)
        if _wanted(world) != (number, 300.0):
            break
        _says(world)
    assert _wanted(world) == (number + 1, 0.0)
    assert world.now <= 1000.0 + 300.0 + 130.0
    assert settled(world).saga.swapped
