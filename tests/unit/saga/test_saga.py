"""Moves in a world in which everything can go wrong: the VM never runs at two places, and in the end at exactly one;
everything taken for the move is given back; and the move ends by itself."""

from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from controller.core.announce_permits import places
from controller.core.saga import Admitted, Cancel, Hurry, Phase, Resumed, Step, Wandered, dump, load
from controller.core.saga.steps import FORWARD, Side
from tests.unit.saga.world import World, plan

BOTH: tuple[Side, ...] = ("source", "destination")
SIDES = st.sampled_from(BOTH)
OUTCOMES = st.sampled_from(["done", "done", "done", "failed", "refused", "torn"])


class Moves(RuleBasedStateMachine):
    @initialize(
        keep=st.booleans(),
        disk=st.booleans(),
        linger=st.sampled_from([0.0, 30.0]),
        borrowed=st.sampled_from([None, "blue"]),
        ahead=st.sampled_from([False, False, True]),
        step=st.sampled_from([*FORWARD, Step.RELEASE, Step.DISCONNECT]),
    )
    def ask(self, keep: bool, disk: bool, linger: float, borrowed: str | None, ahead: bool, step: Step) -> None:
        """Begin a move in which all goes well up to some step."""
        self.world = World.of(plan(keep=keep, disk=disk, linger=linger, borrowed=borrowed, ahead=ahead))
        for _ in range(30):
            if self.world.saga.step is step:
                break
            self.world.take(Admitted())
            self.world.controller("done")
            for side in BOTH:
                if self.world.saga.step is not step:
                    self.go_on(side, "done")

    @rule()
    def admit(self) -> None:
        self.world.take(Admitted())

    @rule(outcome=st.sampled_from(["done", "done", "done", "failed", "refused"]))
    def controller(self, outcome: str) -> None:
        self.world.controller(outcome)

    @rule(side=SIDES, outcome=OUTCOMES)
    def go_on(self, side: Side, outcome: str) -> None:
        """The agent reads its order, acts and reports."""
        self.world.look(side)
        self.world.act(side, outcome)
        self.world.act(side, outcome)
        self.world.report(side, answered=True)

    @rule(outcome=st.sampled_from(["failed", "refused"]), seconds=st.sampled_from([21.0, 61.0, 700.0]))
    def cannot_and_falls_silent(self, outcome: str, seconds: float) -> None:
        """The destination reports that it could not do the act, and is then silent for a while."""
        self.go_on("destination", outcome)
        self.world.agents["destination"].linked = False
        self.world.wait(seconds)

    @rule(strides=st.integers(1, 3))
    def stride(self, strides: int) -> None:
        """All goes well for a while."""
        self.world.take(Admitted())
        for _ in range(strides):
            self.world.controller("done")
            for side in BOTH:
                self.go_on(side, "done")

    @rule(side=SIDES)
    def look(self, side: Side) -> None:
        self.world.look(side)

    @rule(side=SIDES, outcome=OUTCOMES)
    def act(self, side: Side, outcome: str) -> None:
        self.world.act(side, outcome)

    @rule(side=SIDES, outcome=OUTCOMES)
    def finish(self, side: Side, outcome: str) -> None:
        self.world.finish(side, outcome)

    @rule(side=SIDES, answered=st.booleans(), again=st.booleans(), garbled=st.booleans())
    def report(self, side: Side, answered: bool, again: bool, garbled: bool) -> None:
        self.world.report(side, answered=answered, again=again, garbled=garbled)

    @rule(side=SIDES, index=st.integers(0, 50))
    def late_copy(self, side: Side, index: int) -> None:
        self.world.late_copy(side, index)

    @rule(side=SIDES, linked=st.booleans())
    def link(self, side: Side, linked: bool) -> None:
        self.world.agents[side].linked = linked

    @rule(side=SIDES)
    def restart(self, side: Side) -> None:
        self.world.restart(side)

    @rule()
    def tear(self) -> None:
        self.world.tear()

    @rule()
    def end(self) -> None:
        self.world.end()

    @rule(seconds=st.sampled_from([0.1, 1.0, 9.0, 11.0, 21.0, 61.0, 700.0]))
    def wait(self, seconds: float) -> None:
        self.world.wait(seconds)

    @rule()
    def controller_was_away(self) -> None:
        self.world.take(Resumed())

    @rule(chance=st.integers(0, 9))
    def cancel(self, chance: int) -> None:
        if chance == 0:
            self.world.take(Cancel("an operator asked for it"))

    @rule()
    def hurry(self) -> None:
        self.world.take(Hurry("nobody waits for it"))

    @rule(chance=st.integers(0, 9), endpoint=st.sampled_from(["c1-lan", "c2-lan", "c3-lan"]))
    def wander(self, chance: int, endpoint: str) -> None:
        if chance == 0:
            self.world.take(Wandered(endpoint))

    @invariant()
    def never_at_two_places(self) -> None:
        assert len(self.world.running) <= 1, self.world

    @invariant()
    def never_back_in_time(self) -> None:
        """A VM that has run at the destination never runs at the source again, even if it has ended."""
        if self.world.agents["destination"].vm == "ended":
            assert not self.world.running, self.world

    @invariant()
    def the_source_may_run_it_until_the_commit(self) -> None:
        saga = self.world.saga
        task = saga.task("destination")
        if task is not None and task.step is Step.ACTIVATE:
            assert saga.committed
        other = saga.task("source")
        assert not saga.placed or other is None or other.step is Step.DISCARD
        if saga.committed and other is not None and other.step is Step.ABORT:
            assert "destination" in saga.cleared
            there = self.world.agents["destination"]
            assert there.begun is None or there.vm == "none", "it may run there, and nobody has heard that it does not"

    @invariant()
    def announced_where_it_runs(self) -> None:
        """The cloudlet that runs the VM may announce it, and one that was only asked whether the VM may come may not. A
        destination that prepares the VM may announce it already: so there is no gap, neither when the VM arrives nor
        when it is given back."""
        saga, agents = self.world.saga, self.world.agents
        ends: dict[Side, str] = {"source": saga.plan.source.endpoint, "destination": saga.plan.destination.endpoint}
        there = {
            ends[side]
            for side in BOTH
            if agents[side].vm in (("running",) if saga.phase.over else ("running", "waiting"))
        }
        assert there <= places(saga), self.world
        assert saga.phase is not Phase.WAITING or places(saga) == {saga.plan.source.endpoint}

    @invariant()
    def what_changes_is_noted(self) -> None:
        """The permits in the intent match the saga, or an update is noted as due, whenever the controller dies."""
        assert self.world.due or self.world.told == places(self.world.saga)

    @rule()
    def tell(self) -> None:
        self.world.tell()

    @invariant()
    def kept_as_it_is(self) -> None:
        assert load(dump(self.world.saga)) == self.world.saga

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        world.settle()
        saga = world.saga
        event(f"{saga.phase}, committed {saga.committed}, swapped {saga.swapped}: {saga.reason[:28]}")
        ended = world.agents["destination"].vm == "ended"
        assert len(world.running) == (0 if ended else 1), world
        assert saga.phase in (Phase.DONE, Phase.UNDONE) and saga.step is Step.NORMAL and not saga.tasks
        assert saga.placed if ended else world.running[0] == ("destination" if saga.placed else "source"), world
        assert (saga.phase is Phase.DONE) == (saga.copied if saga.plan.ahead else saga.placed)
        assert world.agents["source" if saga.placed else "destination"].vm == "none"
        assert world.pool == (saga.pool is not None) and (saga.placed or not world.pool)
        assert world.held == (saga.pair is not None) and (saga.swapped or not world.held)
        assert world.borrowed or (saga.placed and saga.returned)
        assert saga.returned or not (saga.swapped and saga.plan.borrowed)
        if world.due:
            world.tell()
        assert world.told == {saga.here.endpoint}, "a permit is left over"
        assert saga.reason or saga.copied or (saga.placed and (saga.swapped or saga.plan.keep))


TestMoves = Moves.TestCase
TestMoves.settings = settings(max_examples=200, stateful_step_count=25)
