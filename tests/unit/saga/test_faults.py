"""One fault at every step, each named as in docs/network/moves.md."""

import pytest

from controller.core.announce_permits import places
from controller.core.saga import Admitted, Cancel, Phase, Step, Wandered, advance, order, revocable
from controller.core.saga.steps import FORWARD, Side
from tests.unit.saga.world import World, plan

BOTH: tuple[Side, ...] = ("source", "destination")
STEPS = FORWARD[:-1]


def at(step: Step, linger: float = 0.0) -> World:
    """Return a world in which all went well up to that step, which was just ordered."""
    world = World.of(plan(linger=linger))
    world.take(Admitted())
    for _ in range(40):
        if world.saga.step is step:
            return world
        world.controller("done")
        for side in BOTH:
            if world.saga.step is not step:
                world.look(side)
                world.act(side, "done")
                world.act(side, "done")
                world.report(side, answered=True)
    raise AssertionError(f"never at {step}")


def settled(world: World) -> World:
    world.settle()
    assert len(world.running) == 1
    assert world.pool == (world.saga.pool is not None)
    assert world.held == (world.saga.pair is not None)
    assert places(world.saga) == {world.saga.here.endpoint}
    return world


@pytest.mark.parametrize("step", STEPS)
def test_no_fault(step: Step) -> None:
    world = settled(at(step))
    assert (world.saga.phase, world.saga.reason, world.running) == (Phase.DONE, "", ["destination"])


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("seconds", [1.0, 30.0, 900.0])
@pytest.mark.parametrize("side", BOTH)
@pytest.mark.parametrize("step", STEPS)
def test_a_cloudlet_is_cut_off_for_a_while(step: Step, side: Side, seconds: float, begun: bool) -> None:
    world = at(step)
    if begun:
        world.look(side)
        world.act(side, "done")
    world.agents[side].linked = False
    world.wait(seconds)
    assert len(world.running) <= 1
    settled(world)
    if seconds == 1.0:
        assert world.saga.phase is Phase.DONE


@pytest.mark.parametrize("side", BOTH)
@pytest.mark.parametrize("step", STEPS)
def test_a_cloudlet_is_cut_off_for_good(step: Step, side: Side) -> None:
    """The move still ends; and if the cloudlet ever comes back, the VM runs exactly once."""
    world = at(step)
    world.look(side)
    world.act(side, "done")
    world.agents[side].cut_for_good = True
    world.settle()
    assert world.over and len(world.running) <= 1
    ended = world.saga.phase
    world.agents[side].cut_for_good = False
    settled(world)
    assert world.saga.phase is ended or ended is Phase.DONE


@pytest.mark.parametrize("side", BOTH)
@pytest.mark.parametrize("step", STEPS)
def test_an_agent_is_killed(step: Step, side: Side) -> None:
    world = at(step)
    world.look(side)
    world.act(side, "done")
    world.restart(side)
    assert settled(world).saga.phase is Phase.DONE


@pytest.mark.parametrize("step", STEPS)
def test_the_destinations_hypervisor_is_killed(step: Step) -> None:
    world = at(step)
    world.tear()
    settled(world)
    if step is Step.ACTIVATE:
        assert (world.saga.phase, world.running) == (Phase.UNDONE, ["source"])


@pytest.mark.parametrize("step", STEPS)
def test_the_sources_hypervisor_is_killed(step: Step) -> None:
    """The VM dies as it would have without a move; the move still ends, and is undone."""
    world = at(step)
    if world.agents["source"].vm != "running":
        return
    world.agents["source"].vm, world.agents["source"].cut_for_good = "none", False
    for _ in range(400):
        if world.over:
            break
        world.controller("done")
        for side in BOTH:
            world.look(side)
            world.act(side, "done")
            world.finish(side, "done")
            world.report(side, answered=True)
        world.wait(5.0)
    assert world.saga.phase is Phase.UNDONE and world.running == []
    assert not world.pool and not world.held


@pytest.mark.parametrize("step", STEPS)
def test_a_cloudlet_that_cannot_undo_its_part_is_not_waited_for(step: Step) -> None:
    world = at(step)
    world.take(Cancel("an operator cancelled it"))
    for _ in range(100):
        world.controller("done")
        for side in BOTH:
            world.look(side)
            world.act(side, "failed" if world.saga.phase is Phase.UNDOING or world.over else "done")
            world.report(side, answered=True)
        world.wait(5.0)
    assert world.over
    settled(world)


@pytest.mark.parametrize("answered", [False, True])
def test_a_torn_switchover(answered: bool) -> None:
    """The destination has the whole state and the source does not know it. The destination is not activated as long as
    the source reports; when the source is cut off, it makes sure that the VM does not run there."""
    world = at(Step.SWITCHOVER)
    world.look("source")
    world.act("source", "done")
    world.finish("source", "torn")
    world.agents["source"].linked = answered
    assert world.running == ["source"]
    world.wait(25.0)
    if not answered:
        assert world.running == [] and world.saga.committed == "silent"
        world.look("destination")
        world.act("destination", "done")
        world.act("destination", "done")
        world.report("destination", answered=True)
        assert world.running == ["destination"]
    settled(world)


@pytest.mark.parametrize("step", STEPS)
def test_cancelled(step: Step) -> None:
    world = at(step)
    could = revocable(world.saga)
    world.take(Cancel("an operator cancelled it"))
    settled(world)
    assert could == (FORWARD.index(step) < FORWARD.index(Step.SWITCHOVER))
    assert world.saga.phase is (Phase.UNDONE if could else Phase.DONE)


@pytest.mark.parametrize("step", STEPS)
def test_the_device_walks_on(step: Step) -> None:
    world = at(step)
    world.take(Wandered("c3-lan"))
    settled(world)
    before = FORWARD.index(step) < FORWARD.index(Step.SWITCHOVER)
    assert world.saga.phase is (Phase.UNDONE if before else Phase.DONE)
    assert ("c3-lan" in world.saga.reason) == (before or step is Step.JOIN)


def test_a_join_that_never_comes() -> None:
    world = at(Step.JOIN)
    world.look("destination")
    world.agents["destination"].linked = False
    world.wait(121.0)
    settled(world)
    assert world.saga.reason == "device did not join; old address kept"
    assert (world.saga.address, world.saga.serving, world.held) == ("10.1.0.3", "a", False)


@pytest.mark.parametrize("side", BOTH)
@pytest.mark.parametrize("step", STEPS)
def test_a_cloudlet_is_removed(step: Step, side: Side) -> None:
    world = at(step)
    world.gone = (side,)
    world.agents[side].cut_for_good = True
    world.settle()
    assert world.over and not world.saga.task(side)


@pytest.mark.parametrize("step", STEPS)
def test_what_was_said_before_counts_for_nothing(step: Step) -> None:
    world = at(step)
    for side in BOTH:
        for said in world.agents[side].sent:
            assert advance(world.saga, said, world.now) == (world.saga, ())


@pytest.mark.parametrize("step", [Step.RELEASE, Step.DISCONNECT])
def test_what_is_being_cleared_up_cannot_be_cancelled(step: Step) -> None:
    world = World.of(plan(borrowed="blue"))
    world.take(Admitted())
    while world.saga.step is not step:
        world.controller("done")
        for side in BOTH:
            world.look(side)
            world.act(side, "refused" if step is Step.RELEASE and world.saga.step is Step.JOIN else "done")
            world.act(side, "done")
            world.report(side, answered=True)
    assert not revocable(world.saga)
    before = world.saga
    world.take(Cancel("too late"))
    assert world.saga == before
    assert settled(world).saga.phase is Phase.DONE and not world.borrowed


def test_a_pool_that_cannot_be_left_ends_no_move_late() -> None:
    world = World.of(plan(borrowed="blue"))
    world.take(Admitted())
    while world.saga.step is not Step.DISCONNECT:
        world.controller("done")
        for side in BOTH:
            world.look(side)
            world.act(side, "done")
            world.act(side, "done")
            world.report(side, answered=True)
    world.controller("refused")
    assert world.saga.phase is Phase.DONE and world.borrowed


@pytest.mark.parametrize("joined", [True, False])
def test_an_address_is_given_up_by_the_source_if_the_vm_has_got_another(joined: bool) -> None:
    world = World.of(plan())
    world.take(Admitted())
    while world.saga.step is not Step.DISCARD:
        world.controller("done")
        for side in BOTH:
            world.look(side)
            world.act(side, "done" if joined or world.saga.step is not Step.JOIN else "refused")
            world.act(side, "done")
            world.report(side, answered=True)
    wanted = order(world.saga, "source")
    assert wanted is not None and wanted.addresses is not None
    assert (wanted.act, wanted.addresses.old) == ("discard", "10.1.0.3")
    assert wanted.addresses.new == ("10.2.0.3" if joined else None)


@pytest.mark.parametrize("how", ["silent", "failed", "refused"])
def test_the_source_gets_it_back_from_a_destination_that_has_begun_by_that_ones_own_word_alone(how: str) -> None:
    """The destination reported that it could not run the VM. The source must not get the VM back until the destination
    reports that nothing of it is left, as the first report may have been wrong."""
    world = at(Step.ACTIVATE)
    for _ in range(2):
        world.look("destination")
        world.act("destination", "refused")
        world.report("destination", answered=True)
    assert world.saga.phase is Phase.UNDOING
    for _ in range(60):
        if how != "silent":
            world.look("destination")
            world.act("destination", how)
            world.report("destination", answered=True)
        world.controller("done")
        world.wait(15.0)
        assert world.running == [] and world.saga.task("source") is None
    assert (world.saga.phase, world.saga.placed) == (Phase.DONE, True)
    assert world.saga.reason == "activate failed: refused", "the first reason stands"
    assert places(world.saga) == {"c1-lan", "c2-lan"}, "nobody knows which one will run it"
    assert settled(world).saga.phase is Phase.UNDONE and world.running == ["source"]


@pytest.mark.parametrize("outcome", ["failed", "refused"])
@pytest.mark.parametrize("step", [Step.JOIN, Step.LEAVE])
def test_a_guest_that_answers_nothing_usable_after_the_switchover_costs_an_address_and_no_move(
    step: Step, outcome: str
) -> None:
    world = at(step)
    for _ in range(20):
        if world.saga.step is not step:
            break
        world.look("destination")
        world.act("destination", outcome)
        world.report("destination", answered=True)
        world.wait(5.0)
        assert world.running == ["destination"]
    assert settled(world).saga.phase is Phase.DONE
    assert (world.running, world.saga.address) == (["destination"], "10.1.0.3")


@pytest.mark.parametrize("again", [False, True])
def test_an_activation_that_is_told_so_that_nobody_understands_is_waited_for(again: bool) -> None:
    world = at(Step.ACTIVATE)
    world.look("destination")
    world.act("destination", "done")
    world.act("destination", "done")
    world.report("destination", answered=True, again=again, garbled=True)
    world.wait(700.0)
    assert world.running == ["destination"] and world.saga.placed and world.saga.task("source") is None
    assert settled(world).saga.phase is Phase.DONE and world.running == ["destination"]
