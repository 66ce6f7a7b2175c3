"""The decision whether a VM follows its device (Teka, section V): a pure function that returns its reasons.

The device was seen at another cloudlet. Until now its VM serves it over the WAN. The VM may move after it, a new one
may be started (synthesised) near the device, or everything stays as it is."""

from dataclasses import dataclass
from enum import StrEnum

from controller.core.policy.model import Migration


class Relation(StrEnum):
    """The device's cloudlet as a neighbour of the VM's, by the neighbour database. Stale: no report for too long."""

    POSSIBLE = "possible"
    STALE = "stale"
    NOT = "not"


class Course(StrEnum):
    """The course that is taken with the VM."""

    MOVE = "move"
    SYNTHESISE = "synthesise"
    STAY = "stay"


@dataclass(frozen=True)
class Prospect:
    """The known and predicted figures when the device is seen. `rtt_ms` is the round trip between the two cloudlets
    during the move, `migration_seconds` how long the move takes; None if it cannot be predicted. `initiation_seconds`
    is how long a new VM of this kind takes to serve there (None: the policy's value), and `can_synthesise` whether one
    can be started there at all. Raises ValueError for a negative number or NaN."""

    neighbour: Relation
    rtt_ms: float | None = None
    migration_seconds: float | None = None
    initiation_seconds: float | None = None
    can_synthesise: bool = True

    def __post_init__(self) -> None:
        for name in ("rtt_ms", "migration_seconds", "initiation_seconds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name} is {value}, and must be at least 0")


@dataclass(frozen=True)
class Verdict:
    """The decision, and its reasons as sentences in the order in which they were found."""

    course: Course
    reasons: tuple[str, ...]


def decide(policy: Migration, prospect: Prospect) -> Verdict:
    """Return the decision. The VM moves to possible neighbours only, and never if the round trip is above `max_rtt_ms`;
    below `rtt_ms` it moves however long it takes; between the two if the move is quicker than a new VM. An unknown
    figure never favours a move. If no VM can be started there, a new one would take for ever: between the two the VM
    then moves, and in all other cases it stays."""
    if prospect.neighbour is not Relation.POSSIBLE:
        why = "stale: it was not heard of for too long" if prospect.neighbour is Relation.STALE else "no neighbour"
        return _not(prospect, f"the device's cloudlet is {why}")
    rtt = prospect.rtt_ms
    if rtt is None:
        return _not(prospect, "nobody can predict the RTT during the move")
    if rtt > policy.max_rtt_ms:
        return _not(prospect, f"the RTT during the move, {rtt:g} ms, is above {policy.max_rtt_ms:g} ms")
    if rtt < policy.rtt_ms:
        return Verdict(Course.MOVE, (f"the RTT during the move, {rtt:g} ms, is below {policy.rtt_ms:g} ms",))
    between = f"the RTT during the move, {rtt:g} ms, is from {policy.rtt_ms:g} to {policy.max_rtt_ms:g} ms"
    return _race(policy, prospect, between)


def _race(policy: Migration, prospect: Prospect, between: str) -> Verdict:
    """Return the course that serves first: the moved VM, or a new one. At equal times it is the new one, which has no
    pause."""
    if prospect.migration_seconds is None:
        return _not(prospect, between, "nobody can predict how long the move takes")
    move = f"the move takes {prospect.migration_seconds:g} s"
    if not prospect.can_synthesise:
        return Verdict(Course.MOVE, (between, f"{move}, and no VM can be started there"))
    own = prospect.initiation_seconds
    initiation = policy.initiation_seconds if own is None else own
    course = Course.MOVE if prospect.migration_seconds < initiation else Course.SYNTHESISE
    return Verdict(course, (between, f"{move}, and a new VM takes {initiation:g} s"))


def _not(prospect: Prospect, *reasons: str) -> Verdict:
    if prospect.can_synthesise:
        return Verdict(Course.SYNTHESISE, reasons)
    return Verdict(Course.STAY, (*reasons, "no VM can be started there"))
