"""A world of two cloudlets for a move: hypervisors, agents that keep only the contract of `controller/wire/moves.py`,
and links that may lose any message. Time is a number."""

from dataclasses import dataclass, field
from typing import Any

from controller.core.announce_permits import differs, places
from controller.core.saga import (
    Admitted,
    Clock,
    Did,
    Gone,
    MoveEnd,
    Note,
    Phase,
    Plan,
    Saga,
    Said,
    Step,
    advance,
    begin,
    current,
    deadline,
    dump,
    load,
    order,
)
from controller.core.saga.steps import Side
from controller.wire.initiations import Initiation
from controller.wire.machines import Disk, Machine
from controller.wire.moves import Figures, Order, Pages, Target

FENCE = 10.0


def machine(*, disk: bool = True) -> Machine:
    return Machine(
        name="v1",
        driver="simulated",
        image="debian",
        memory=1 << 28,
        macs=("02:00:5e:00:00:02", "02:00:5e:00:00:03"),
        options={},
        disk=Disk(base="debian", bytes=1 << 30) if disk else None,
    )


def plan(
    *,
    keep: bool = False,
    disk: bool = True,
    linger: float = 0.0,
    borrowed: str | None = None,
    ahead: bool = False,
    initiation: Initiation | None = None,
) -> Plan:
    return Plan(
        move="move-1",
        machine=machine(disk=disk),
        device="m1",
        source=MoveEnd("c1", "c1-lan", "192.0.2.1"),
        destination=MoveEnd("c2", "c2-lan", "192.0.2.2"),
        old="10.1.0.3",
        keep=keep,
        linger=linger,
        borrowed=borrowed,
        ahead=ahead,
        initiation=initiation,
        fence_seconds=FENCE,
    )


@dataclass
class Agent:
    """One cloudlet: the state of the VM at its hypervisor (`vm`: none, waiting, arrived, running, ended, paused, moved)
    and the memory of its agent. A VM that has `ended` ran here in this move, and ended by itself. `begun` and the time
    of the last answered report survive a crash."""

    side: Side
    vm: str
    linked: bool = True
    order: Order | None = None
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    begun: int | None = None
    answered: float = 0.0
    sent: list[Said] = field(default_factory=list)
    cut_for_good: bool = False

    def crash(self) -> None:
        """Forget everything that is not on the disk."""
        self.order, self.results = None, {}

    def fence(self, now: float) -> None:
        """Pause the VM in a switchover whose end could not be reported for too long."""
        if self.side == "source" and self.begun is not None and now - self.answered >= FENCE and self.vm == "running":
            self.vm = "paused"


@dataclass
class World:
    saga: Saga
    now: float = 1000.0
    notes: list[Note] = field(default_factory=list)
    pool: bool = False
    held: bool = False
    borrowed: bool = True
    """Whether the source is still in the pool that it joined for an earlier move."""
    gone: tuple[Side, ...] = ()
    agents: dict[Side, Agent] = field(default_factory=dict)
    told: frozenset[str] = frozenset({"c1-lan"})
    """The endpoints at which the intent permits the VM to be announced."""
    thin: bool = True
    """Whether memory goes over a thin line."""
    due: bool = False

    @classmethod
    def of(cls, what: Plan) -> "World":
        agents: dict[Side, Agent] = {"source": Agent("source", "running"), "destination": Agent("destination", "none")}
        return cls(begin(what, 1000.0), agents=agents)

    @property
    def running(self) -> list[Side]:
        return [side for side, agent in self.agents.items() if agent.vm == "running"]

    def take(self, event: Any) -> None:
        """Handle an event in a transaction of the controller's, which may die directly afterwards: it knows only what
        it has stored."""
        saga, notes = advance(load(dump(self.saga)), event, self.now)
        assert saga.number >= self.saga.number
        if self.saga.phase.over and saga.phase is not self.saga.phase:
            assert self.saga.task("destination"), "an end is an end, but for a destination of which nothing is known"
        self.due |= differs(self.saga, saga)
        self.saga = saga
        self.notes += notes

    def tell(self) -> None:
        """Update the permits in the intent, as the leader does."""
        self.told, self.due = places(self.saga), False

    def controller(self, outcome: str) -> None:
        """Do the controller's own task, and store that in the same transaction."""
        task = self.saga.task("controller")
        if task is None:
            return
        if outcome != "done":
            self.take(Did(task.number, "failed" if outcome == "failed" else "refused", outcome))
            return
        result: dict[str, Any] = {}
        match task.step:
            case Step.CONNECT:
                self.pool = True
                result = {"pool": "blue", "joined": 3}
            case Step.RESERVE:
                self.held = True
                result = {"pair": 7, "held": "later", "new": "10.2.0.3", "device_address": "10.2.0.2"}
            case Step.DISCONNECT if self.saga.phase is Phase.UNDOING:
                self.pool = False
            case Step.DISCONNECT:
                self.borrowed = False
            case Step.RELEASE:
                self.held = False
        self.take(Did(task.number, "done", **result))

    def look(self, side: Side) -> None:
        """Let the agent read its order."""
        agent = self.agents[side]
        if agent.linked:
            agent.order = order(self.saga, side)

    def act(self, side: Side, outcome: str) -> None:
        """Let the agent act on its order, which may be out of date."""
        agent = self.agents[side]
        wanted = agent.order
        if wanted is None or wanted.number in agent.results:
            return
        if wanted.act in ("switchover", "activate"):
            if not (agent.linked and current(self.saga, side, wanted.number)):
                return  # nobody answered that it is to begin, or with 409
            if agent.begun != wanted.number:
                self.take(Said(side, wanted.number, "running"))
                agent.begun, agent.answered = wanted.number, self.now
                return
        agent.results[wanted.number] = self._result(agent, wanted, outcome)

    def finish(self, side: Side, outcome: str) -> None:
        """End the act that the agent has begun, whether it reaches the controller or not."""
        agent = self.agents[side]
        wanted = agent.order
        if wanted is None or agent.begun != wanted.number or wanted.number in agent.results:
            return
        if wanted.act == "switchover" and agent.vm not in ("running", "paused"):
            agent.results[wanted.number] = {"state": "done" if agent.vm == "moved" else "failed"}
            return
        agent.results[wanted.number] = self._result(agent, wanted, outcome)

    def _result(self, agent: Agent, wanted: Order, outcome: str) -> dict[str, Any]:
        other = self.agents["destination" if agent.side == "source" else "source"]
        failed = {"state": "refused" if outcome == "refused" else "failed", "detail": outcome}
        done = {"state": "done"}
        match wanted.act:
            case "abort" | "discard" if outcome in ("failed", "refused"):
                return failed
            case "abort" | "discard" if wanted.initiation is not None:
                assert wanted.act == ("discard" if agent.side == "source" else "abort")
                agent.vm = "none"
                return done
            case "initiate":
                assert agent.side == "destination" and agent.vm in ("none", "running")
                agent.vm = "running"  # it may run, and its service not answer
                return done if outcome == "done" else failed
            case "abort" if agent.side == "source" and agent.vm == "none":
                return {"state": "refused", "detail": "there is no such machine"}
            case "abort" if agent.side == "source":
                agent.vm, agent.begun = "running", None
                return done
            case "abort":
                assert agent.vm not in ("running", "ended"), "nobody takes back a VM that has run"
                agent.vm, agent.begun = "none", None
                return done
            case "discard":
                assert agent.vm != "running"
                agent.vm, agent.begun = "none", None
                return done
            case "prepare":
                if outcome != "done":
                    return failed
                agent.vm = "waiting"
                return {"state": "done", "target": Target(memory=["tcp:192.0.2.2:4444"])}
            case "disk" | "memory":
                return done if outcome == "done" and other.vm == "waiting" else failed
            case "switchover":
                if outcome == "done" and other.vm == "waiting" and agent.vm == "running":
                    agent.vm, other.vm = "moved", "arrived"
                    return done
                if outcome == "torn" and other.vm == "waiting" and agent.vm == "running":
                    other.vm = "arrived"  # it has everything, and the source does not know that
                return failed
            case "activate":
                if agent.vm in ("running", "ended"):
                    return done
                if agent.vm != "arrived":
                    return {"state": "refused", "detail": "its state is not all here"}
                if outcome == "done":
                    agent.vm = "running"
                    return done
                return failed
            case _:
                return done if outcome == "done" else failed

    def report(self, side: Side, *, answered: bool, again: bool = False, garbled: bool = False) -> None:
        """Report the progress of the agent's order. The answer may be lost; the report may come twice or late, or be
        unreadable for the controller, in which case the agent still takes the reply for an answer."""
        agent = self.agents[side]
        if not agent.linked or agent.order is None:
            return
        number = agent.order.number
        result = agent.results.get(number)
        if result is None:
            if agent.order.act in ("switchover", "activate") and agent.begun != number:
                return
            said = Said(side, number, "running")
        else:
            thin = self.thin and agent.order.act == "memory"
            pages = Pages(zero=0, same=0, known=0, delta=0, literal=1) if thin else None
            said = Said(side, number, figures=Figures(seconds=1.0, pages=pages), **result)
        if not garbled:
            agent.sent.append(said)
            self.take(said)
            if again:
                self.take(said)
        if answered:
            agent.answered = self.now
            if result is not None and agent.order.act == "switchover":
                agent.begun = None

    def late_copy(self, side: Side, index: int) -> None:
        """Deliver a copy of an old report."""
        sent = self.agents[side].sent
        if sent:
            self.take(sent[index % len(sent)])

    def restart(self, side: Side) -> None:
        """Kill the agent and start it again; before anything else it secures the act that it had begun."""
        agent = self.agents[side]
        agent.crash()
        if agent.side == "source" and agent.begun is not None and agent.vm == "running":
            agent.vm = "paused"

    def tear(self) -> None:
        """Kill the destination's hypervisor with everything that waits there."""
        agent = self.agents["destination"]
        if agent.vm in ("waiting", "arrived"):
            agent.vm = "none"

    def end(self) -> None:
        """End the VM by itself at the destination, possibly before its run was reported."""
        agent = self.agents["destination"]
        if agent.vm == "running":
            agent.vm = "ended"

    def wait(self, seconds: float) -> None:
        """Let time pass; all actions that depend on the clock happen in time."""
        until = self.now + seconds
        while True:
            times = [agent.answered + FENCE for agent in self.agents.values() if agent.begun is not None]
            soonest = deadline(self.saga)
            times += [soonest] if soonest is not None else []
            following = min((t for t in times if t > self.now), default=until)
            self.now = min(max(following, self.now), until)
            for agent in self.agents.values():
                agent.fence(self.now)
            if soonest is not None and self.now >= soonest:
                self.take(Clock())
            if self.now >= until:
                return

    def settle(self) -> None:
        """Let all go well from now on, except for agents that are cut off for good."""
        for _ in range(2000):
            if self.saga.phase.over and all(a.cut_for_good or not self.saga.task(s) for s, a in self.agents.items()):
                return
            self.take(Admitted())
            self.controller("done")
            for side in self.gone:
                self.take(Gone(side))
            for side, agent in self.agents.items():
                agent.linked = not agent.cut_for_good
                self.look(side)
                self.act(side, "done")
                self.finish(side, "done")
                self.report(side, answered=True)
            self.wait(5.0)
        raise AssertionError(f"the move does not end: {self.saga}")

    @property
    def over(self) -> bool:
        return self.saga.phase in (Phase.DONE, Phase.UNDONE)
