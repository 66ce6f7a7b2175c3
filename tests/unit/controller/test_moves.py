"""A VM moves if Teka's section V permits it, and otherwise not."""

from dataclasses import replace
from math import nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.follow_policy import Course, Prospect, Relation, decide
from controller.core.policy.model import Migration

POSSIBLE, STALE, NOT = Relation.POSSIBLE, Relation.STALE, Relation.NOT
MOVE, SYNTHESISE, STAY = Course.MOVE, Course.SYNTHESISE, Course.STAY

times = st.floats(0, 5000) | st.sampled_from([0.0, 20.0, 150.0, 1000.0])
policies = st.builds(
    lambda low, more, initiation: Migration(low, low + more, initiation),
    st.floats(0.1, 2000),
    st.floats(0, 2000),
    st.floats(0, 100),
)
prospects = st.builds(
    Prospect, st.sampled_from(Relation), st.none() | times, st.none() | times, st.none() | times, st.booleans()
)


@pytest.mark.parametrize(
    ("prospect", "move", "reason"),
    [
        (Prospect(POSSIBLE, 149.9, 1e6, 1), MOVE, "149.9 ms, is below 150 ms"),
        (Prospect(POSSIBLE, 149.9), MOVE, "below 150 ms"),
        (Prospect(POSSIBLE, 1000.1, 1, 1e6), SYNTHESISE, "1000.1 ms, is above 1000 ms"),
        (Prospect(POSSIBLE, 1000.1, 1, can_synthesise=False), STAY, "above 1000 ms"),
        (Prospect(POSSIBLE, 150, 19.9), MOVE, "the move takes 19.9 s, and a new VM takes 20 s"),
        (Prospect(POSSIBLE, 1000, 20), SYNTHESISE, "the move takes 20 s, and a new VM takes 20 s"),
        (Prospect(POSSIBLE, 500, 20, 21), MOVE, "a new VM takes 21 s"),
        (Prospect(POSSIBLE, 500, 90, can_synthesise=False), MOVE, "no VM can be started there"),
        (Prospect(POSSIBLE, 500), SYNTHESISE, "nobody can predict how long the move takes"),
        (Prospect(POSSIBLE, 500, can_synthesise=False), STAY, "nobody can predict how long"),
        (Prospect(POSSIBLE, None, 1), SYNTHESISE, "nobody can predict the RTT"),
        (Prospect(STALE, 1, 1), SYNTHESISE, "stale: it was not heard of"),
        (Prospect(NOT, 1, 1), SYNTHESISE, "no neighbour"),
        (Prospect(NOT, 1, 1, can_synthesise=False), STAY, "no neighbour"),
    ],
)
def test_what_the_paper_says(prospect: Prospect, move: Course, reason: str) -> None:
    verdict = decide(Migration(), prospect)
    assert verdict.course is move
    assert any(reason in said for said in verdict.reasons), verdict.reasons


@given(policies, prospects)
def test_never_to_who_is_no_neighbour_or_too_far(policy: Migration, prospect: Prospect) -> None:
    verdict = decide(policy, prospect)
    assert verdict.reasons
    if verdict.course is MOVE:
        assert prospect.neighbour is POSSIBLE and prospect.rtt_ms is not None
        assert prospect.rtt_ms <= policy.max_rtt_ms
        assert prospect.rtt_ms < policy.rtt_ms or prospect.migration_seconds is not None
    elif verdict.course is SYNTHESISE:
        assert prospect.can_synthesise


@given(policies, prospects, times, st.sampled_from(["rtt_ms", "migration_seconds", "initiation_seconds"]))
def test_what_gets_better_never_stops_a_move(policy: Migration, prospect: Prospect, other: float, what: str) -> None:
    """Better is less RTT, a quicker move, or a slower start; a known value is better than an unknown one."""
    now = getattr(prospect, what)
    better = max(other, policy.initiation_seconds if now is None else now) if what == "initiation_seconds" else other
    if what != "initiation_seconds" and now is not None:
        better = min(now, other)
    change: dict[str, Any] = {what: better}
    if decide(policy, prospect).course is MOVE:
        assert decide(policy, replace(prospect, **change)).course is MOVE


@given(policies, prospects, times, times)
def test_looser_limits_never_stop_a_move(policy: Migration, prospect: Prospect, one: float, other: float) -> None:
    looser = replace(policy, rtt_ms=policy.rtt_ms + one, max_rtt_ms=policy.max_rtt_ms + one + other)
    if decide(policy, prospect).course is MOVE:
        assert decide(looser, prospect).course is MOVE


@pytest.mark.parametrize("value", [-1.0, nan])
def test_numbers_that_are_none(value: float) -> None:
    with pytest.raises(ValueError, match="rtt_ms is"):
        Prospect(POSSIBLE, value)
