"""The input to the decision on a move, and the advice to operators after it. Pure."""

from controller.core.estimates import Estimate
from controller.core.follow_policy import Course, Prospect, Relation


def prospect(relation: Relation, found: Estimate, can_synthesise: bool) -> Prospect:
    """Return the input of `controller.core.follow_policy.decide`: the RTT during the move, and its corrected time."""
    return Prospect(relation, found.rtt_ms, found.seconds, None, can_synthesise)


def advice(course: Course, vm: str, endpoint: str) -> str:
    """Return the commands for an operator who disagrees with the decision, or who must do what is not automatic."""
    move = f"`weft move start {vm} {endpoint}` moves it all the same"
    match course:
        case Course.MOVE:
            return f"`weft move predict {vm} {endpoint}` shows what that is based on"
        case Course.SYNTHESISE:
            return f"it serves from where it is until somebody starts a new one at {endpoint}; {move}"
        case Course.STAY:
            return f"it serves from where it is; {move}"
