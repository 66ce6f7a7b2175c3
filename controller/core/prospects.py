"""From what is known of a move to the decision on it, and to what an operator can do about that. Pure."""

from controller.core.estimates import Estimate
from controller.core.follow_policy import Course, Prospect, Relation


def prospect(relation: Relation, found: Estimate, can_synthesise: bool) -> Prospect:
    """What `core.moves.decide` is given: the RTT that the move itself makes, and its corrected time."""
    return Prospect(relation, found.rtt_ms, found.seconds, None, can_synthesise)


def advice(course: Course, vm: str, endpoint: str) -> str:
    """What an operator can do who does not agree, or has to do what nobody does by itself."""
    move = f"`weft move start {vm} {endpoint}` moves it all the same"
    match course:
        case Course.MOVE:
            return f"`weft move predict {vm} {endpoint}` shows what that is based on"
        case Course.SYNTHESISE:
            return f"it serves from where it is until somebody starts a new one at {endpoint}; {move}"
        case Course.STAY:
            return f"it serves from where it is; {move}"
