"""Whether a VM follows its device (Teka, section V): a pure decision, with its reasons.

The device was seen at another cloudlet. Up to now its VM serves it from where it was, over the WAN. The VM may move
after it, a new one may be started (synthesised) near the device, or everything stays as it is.
"""

from dataclasses import dataclass
from enum import StrEnum

from controller.core.policy.model import Migration


class Relation(StrEnum):
    """What the device's cloudlet is to the VM's, by the neighbour database. Stale: it was not heard of for too long."""

    POSSIBLE = "possible"
    STALE = "stale"
    NOT = "not"


class Course(StrEnum):
    """What becomes of the VM."""

    MOVE = "move"
    SYNTHESISE = "synthesise"
    STAY = "stay"


@dataclass(frozen=True)
class Prospect:
    """What is known and predicted when the device is seen. `rtt_ms` is the round trip between the two cloudlets during
    the move, `migration_seconds` how long the move takes; None where nobody can predict it. `initiation_seconds` is how
    long a new VM of this kind takes to be of service there (None: as the policy says), and `can_synthesise` whether one
    can be started there at all. Raises ValueError for a negative number or none."""

    neighbour: Relation
    rtt_ms: float | None = None
    migration_seconds: float | None = None
    initiation_seconds: float | None = None
    can_synthesise: bool = True

    def __post_init__(self) -> None:
        for name in ("rtt_ms", "migration_seconds", "initiation_seconds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name} is {value}, and has to be at least 0")


@dataclass(frozen=True)
class Verdict:
    """The decision, and why, as sentences in the order in which they were found."""

    course: Course
    reasons: tuple[str, ...]


def decide(policy: Migration, prospect: Prospect) -> Verdict:
    """Moves to possible neighbours only, never above `max_rtt_ms`; below `rtt_ms` however long it takes; between the
    two if that is quicker than a new VM. What cannot be predicted is never in favour of a move. Where no VM can be
    started, a new one would take for ever: between the two the VM then moves, and in all other cases it stays."""
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
    """Whichever is of service first: the moved VM, or a new one. At a draw the new one, which pauses nobody."""
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
