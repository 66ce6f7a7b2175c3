"""The state of a move. It is stored as JSON with every transition."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from pydantic import TypeAdapter

from controller.core.saga.steps import ANEW, FORWARD, RULES, Side, Step
from controller.wire.initiations import Initiation
from controller.wire.machines import Machine, Nic
from controller.wire.moves import Figures, Target, Tuning


class Phase(StrEnum):
    """`WAITING` to be admitted; `UNDOING`: as if it had never been requested, or back to where it can be tried
    again."""

    WAITING = "waiting"
    MOVING = "moving"
    UNDOING = "undoing"
    DONE = "done"
    UNDONE = "undone"

    @property
    def over(self) -> bool:
        """Whether the move has ended."""
        return self in (Phase.DONE, Phase.UNDONE)


@dataclass(frozen=True)
class MoveEnd:
    """One end of a move."""

    cloudlet: str
    endpoint: str
    vtep: str


@dataclass(frozen=True)
class Plan:
    """The machine to move, and both ends. `serving` is the vNIC that has the address `old`; a move that is to `keep` it
    needs no other. `linger`: the longest time in seconds that the old address stays after the device has joined the new
    one, while it is in use. `borrowed` is a pool that the source joined only for the move that brought the VM there.
    `ahead`: the move only copies, ahead of another one; both ends keep the copies, and the VM stays. `initiation`: no
    state moves; the VM starts anew at the destination, and the source's machine is retired. `asked_in`: the span of the
    request for the move (`traceparent`), while traces are made."""

    move: str
    machine: Machine
    device: str
    source: MoveEnd
    destination: MoveEnd
    old: str
    serving: Nic = "a"
    keep: bool = False
    linger: float = 0.0
    borrowed: str | None = None
    ahead: bool = False
    initiation: Initiation | None = None
    tuning: Tuning = field(default_factory=Tuning)
    fence_seconds: float = 10.0
    asked_in: str = ""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps forward, in their order."""
        return FORWARD if self.initiation is None else ANEW

    def side(self, step: Step) -> Side:
        """Return the side that does a step forward."""
        return "source" if step is Step.LEAVE and self.initiation is not None else RULES[step].side


@dataclass(frozen=True)
class Task:
    """A task of one side: an order, if the side is an agent. Times in seconds since 1970; `heard` is the time of the
    last report, and `begun` whether there was any. `failed`: it will be ordered again."""

    number: int
    side: Side
    step: Step
    since: float
    heard: float
    begun: bool = False
    failed: bool = False


@dataclass(frozen=True)
class Saga:
    """`number` is the last order's. `touched` are the cloudlets that may hold something of this move, `cleared` those
    of them that hold nothing any more. `ready`: after undoing, the move is tried again, not before `ready_at`.

    The cloudlet that may run the VM is the source until `committed` is set, which is before the first `activate`; then
    the destination. `committed` says why the source will not run it: it reported so (`told`), or it was `silent` for so
    long that it has stopped the VM by itself. `begun`: the destination has begun to run it, and from then on only its
    own report proves that it does not. `placed`: the destination was ordered to run it, and did; in an initiation, its
    service answers there. `swapped`: the old address is gone; `hurried`: its lingering was cut short. `copied`: the
    move was to copy only, and has.

    `pool` is one that the destination joined for the move, at the generation `joined`; `pair` was reserved for it. That
    and the old pair are kept until `held`. `returned`: the source has left the pool that the plan has `borrowed`."""

    plan: Plan
    phase: Phase = Phase.WAITING
    step: Step = Step.AUTHORISE
    began: float = 0.0
    since: float = 0.0
    number: int = 0
    tasks: tuple[Task, ...] = ()
    tries: int = 0
    again_at: float | None = None
    ready_at: float = 0.0
    touched: frozenset[Side] = frozenset()
    cleared: frozenset[Side] = frozenset()
    ready: bool = False
    committed: Literal["told", "silent"] | None = None
    begun: bool = False
    placed: bool = False
    swapped: bool = False
    hurried: bool = False
    copied: bool = False
    pool: str | None = None
    joined: int | None = None
    pair: int | None = None
    held: str | None = None
    returned: bool = False
    new: str | None = None
    device_address: str | None = None
    target: Target | None = None
    figures: dict[Step, Figures] = field(default_factory=dict)
    reason: str = ""

    @property
    def here(self) -> MoveEnd:
        """The end where the VM is, or was last."""
        return self.plan.destination if self.placed else self.plan.source

    @property
    def leaving(self) -> bool:
        """Whether the old address lingers, and nothing new is to begin there."""
        return self.phase is Phase.MOVING and self.step is Step.LEAVE

    @property
    def changed(self) -> bool:
        """Whether the VM has its new address for good."""
        return self.swapped or (self.placed and self.plan.initiation is not None)

    @property
    def address(self) -> str:
        """The VM's address: the new one as soon as it was joined, unless the old one could not go."""
        return self.new if (self.changed or self.leaving) and self.new else self.plan.old

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses of the VM: also the old one while it lingers."""
        return (self.address, self.plan.old) if self.leaving else (self.address,)

    @property
    def serving(self) -> Nic:
        """The vNIC that has that address."""
        if self.address == self.plan.old:
            return self.plan.serving
        return "b" if self.plan.serving == "a" else "a"

    def task(self, side: Side) -> Task | None:
        """Return the present task of one side."""
        return next((task for task in self.tasks if task.side == side), None)


def owed(saga: Saga, task: Task) -> bool:
    """Return whether a task is to be done whenever possible, and the move does not wait for it."""
    if saga.phase.over:
        return True
    if task.step is Step.DISCARD:
        return saga.step is not Step.DISCARD
    if task.step is Step.ACTIVATE:
        return saga.placed
    return task.step is Step.ABORT and (saga.placed or task.side in saga.cleared)


_SAGA = TypeAdapter(Saga)


def dump(saga: Saga) -> dict[str, Any]:
    """Return the saga as JSON."""
    kept: dict[str, Any] = _SAGA.dump_python(saga, mode="json", exclude_defaults=True)
    return kept


def load(kept: dict[str, Any]) -> Saga:
    """Return the saga from the JSON of `dump`."""
    return _SAGA.validate_python(kept)
