"""The faults at the steps of a move, and how each may end (docs/network/moves.md, "Faults"). Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from math import inf

from controller.core.saga.steps import FORWARD, Step, before


class End(StrEnum):
    """The end of a move, and the state of the VM. `KEPT`: done, with its old address. `LOST`: the VM does not run any
    more, and the controller and the agents report that."""

    DONE = "done"
    KEPT = "done, old address kept"
    UNDONE = "undone"
    DONE_LOST = "done, VM lost"
    UNDONE_LOST = "undone, VM lost"

    @property
    def lost(self) -> bool:
        """Whether the VM has to be started again."""
        return self in (End.DONE_LOST, End.UNDONE_LOST)


class Fault(StrEnum):
    """A fault. `CUT_PATH` cuts the line between the two cloudlets, the other cuts all lines of one of them."""

    KILL_SOURCE_AGENT = "kill-source-agent"
    KILL_DESTINATION_AGENT = "kill-destination-agent"
    KILL_CONTROLLER = "kill-controller"
    KILL_ROUTE_SERVER = "kill-route-server"
    KILL_SOURCE_QEMU = "kill-source-qemu"
    KILL_DESTINATION_QEMU = "kill-destination-qemu"
    CUT_SOURCE = "cut-source"
    CUT_DESTINATION = "cut-destination"
    CUT_PATH = "cut-path"
    FULL = "destination-full"
    GUEST_SILENT = "guest-silent"
    GUEST_GARBLES = "guest-garbles"
    DEVICE_GONE = "device-gone"
    DEVICE_DEAF = "device-never-joins"
    DEVICE_WALKS = "device-walks-on"
    TWICE = "two-moves-at-once"


CUTS = (Fault.CUT_SOURCE, Fault.CUT_DESTINATION, Fault.CUT_PATH)
STEPS = FORWARD[: FORWARD.index(Step.NORMAL)]


@dataclass(frozen=True)
class Case:
    """A fault at a step. `seconds` is how long a cut lasts (inf: until the move is over)."""

    fault: Fault
    step: Step
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The name of the case, such as `cut-source-30s@memory`."""
        how_long = "-for-good" if self.seconds == inf else f"-{self.seconds:g}s" if self.seconds else ""
        return f"{self.fault}{how_long}@{self.step}"

    @property
    def ends(self) -> frozenset[End]:
        """The ways in which it may end."""
        return frozenset(_ends(self))

    @property
    def keeps_connections(self) -> bool:
        """Whether the device's connection has to survive, if the VM does."""
        return self.fault not in (Fault.DEVICE_GONE, Fault.DEVICE_WALKS) and self.seconds < inf


def _ends(case: Case) -> Iterable[End]:
    early = before(case.step, Step.SWITCHOVER)
    late = before(Step.SWITCHOVER, case.step)
    match case.fault:
        case Fault.KILL_SOURCE_QEMU:
            return [End.UNDONE_LOST] if early else [End.DONE] if late else [End.UNDONE_LOST, End.DONE]
        case Fault.KILL_DESTINATION_QEMU:
            if not late:
                return [End.DONE, End.UNDONE]
            return [End.UNDONE] if case.step is Step.ACTIVATE else [End.DONE_LOST]
        case Fault.CUT_SOURCE | Fault.CUT_DESTINATION | Fault.CUT_PATH:
            return [End.DONE] if case.seconds <= 1 else [End.DONE, End.KEPT, End.UNDONE]
        case Fault.FULL:
            return [End.UNDONE]
        case Fault.GUEST_SILENT | Fault.GUEST_GARBLES:
            return [End.DONE] if case.step is Step.DISCARD else [End.KEPT]
        case Fault.DEVICE_GONE if case.step is Step.JOIN:
            return [End.DONE, End.KEPT]  # it may have joined at once
        case Fault.DEVICE_GONE | Fault.DEVICE_DEAF:
            return [End.DONE] if before(Step.JOIN, case.step) else [End.KEPT]
        case Fault.DEVICE_WALKS:
            return [End.UNDONE] if early else [End.KEPT, End.DONE]
        case _:
            return [End.DONE]


def _all() -> Iterable[Case]:
    for fault in list(Fault)[: list(Fault).index(Fault.CUT_SOURCE)]:
        for step in STEPS:
            if fault is not Fault.KILL_DESTINATION_QEMU or not before(step, Step.PREPARE):  # before that it has none
                yield Case(fault, step)
    yield Case(Fault.FULL, Step.PREPARE)
    yield Case(Fault.TWICE, Step.AUTHORISE)
    for step in (Step.MEMORY, Step.ACTIVATE, Step.JOIN, Step.LEAVE, Step.DISCARD):
        yield Case(Fault.GUEST_SILENT, step)
        yield Case(Fault.GUEST_GARBLES, step)
    for step in (Step.PREPARE, Step.MEMORY, Step.SWITCHOVER, Step.ACTIVATE, Step.JOIN, Step.LEAVE, Step.DISCARD):
        yield Case(Fault.DEVICE_GONE, step)
    yield Case(Fault.DEVICE_DEAF, Step.JOIN)
    for step in (Step.PREPARE, Step.MEMORY, Step.JOIN):
        yield Case(Fault.DEVICE_WALKS, step)
    for seconds in (1.0, 30.0, inf):
        for fault in CUTS:
            for step in STEPS:
                yield Case(fault, step, seconds)


ALL = tuple(_all())
"""All cases in the order in which they run: those that take longest come last."""

CHOSEN = (
    "kill-source-agent@switchover",
    "kill-destination-agent@activate",
    "kill-destination-agent@join",
    "kill-controller@switchover",
    "kill-route-server@connect",
    "kill-source-qemu@memory",
    "kill-destination-qemu@switchover",
    "kill-destination-qemu@activate",
    "cut-source-1s@switchover",
    "destination-full@prepare",
    "guest-silent@leave",
    "guest-garbles@activate",
    "device-gone@leave",
    "device-never-joins@join",
    "device-walks-on@memory",
    "two-moves-at-once@authorise",
)
"""One case of each kind, of the cuts only the shortest, at the steps where most depends on it; for the test suite."""


def chosen(*patterns: str) -> list[Case]:
    """Return the cases whose name matches any of the shell patterns."""
    return [case for case in ALL if any(fnmatchcase(case.name, pattern) for pattern in patterns)]
