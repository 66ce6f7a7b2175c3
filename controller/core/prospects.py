"""The input to the decision on a move, and the advice to operators after it. Pure."""

from controller.core.estimates import Estimate
from controller.core.follow_policy import Course, Prospect, Relation


def prospect(
    relation: Relation, found: Estimate, can_synthesise: bool, initiation_seconds: float | None = None
) -> Prospect:
    """Return the input of `controller.core.follow_policy.decide`: the RTT during the move, its corrected time, and how
    long a new VM took (None: not measured)."""
    return Prospect(relation, found.rtt_ms, found.seconds, initiation_seconds, can_synthesise)


def advice(course: Course, vm: str, endpoint: str, starts: bool = False) -> str:
    """Return the commands for an operator who disagrees with the decision, or who must do what is not automatic.
    `starts`: a new VM starts by itself."""
    move = f"`weft move start {vm} {endpoint}` moves it all the same"
    match course:
        case Course.MOVE:
            return f"`weft move predict {vm} {endpoint}` shows what that is based on"
        case Course.SYNTHESISE if starts:
            return f"it serves from where it is until a new one serves at {endpoint}; {move}"
        case Course.SYNTHESISE:
            anew = f"`weft vm synthesise {vm} {endpoint}` starts a new one there"
            return f"it serves from where it is; {anew}; {move}"
        case Course.STAY:
            return f"it serves from where it is; {move}"
