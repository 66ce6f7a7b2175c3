"""The pure parts of the neighbour database: the choice of neighbours to probe, standing, roll-up, bandwidth."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.agents.neighbours import _sentence
from controller.core import bandwidths, neighbour_history
from controller.core.intent import CloudletState, Intent
from controller.core.neighbour_history import DAY, HOUR, ROUND, Summary, kept, rolled, start
from controller.core.neighbour_reports import Intake
from controller.core.neighbours import Standing, candidates, concerned, judge, lifetime, report_seconds
from controller.core.policy.model import Neighbours
from controller.wire.neighbours import Measurement, NeighbourReport
from tests.unit.controller.regions import STEPS, founded, step

POLICY = Neighbours()
loss = st.floats(0, 1)
median = st.none() | st.floats(0, 1000)


def run(policy: Neighbours, rounds: list[tuple[float | None, float]]) -> list[Standing]:
    standing, seen = None, []
    for median_ms, lost in rounds:
        standing = judge(policy, standing, median_ms, lost)
        seen.append(standing)
    return seen


def test_a_neighbour_is_made_under_the_one_threshold_and_unmade_above_the_other() -> None:
    medians = [160.0, 149.9, 179.0, 180.0, 180.1, 179.0, 150.0, 149.0]
    possible = [s.possible for s in run(POLICY, [(m, 0.0) for m in medians])]
    assert possible == [False, True, True, True, False, False, False, True]


def test_one_lost_echo_is_forgiven_and_a_lost_round_is_not() -> None:
    assert [s.possible for s in run(POLICY, [(10.0, 0.0), (10.0, 0.4), (10.0, 0.0), (10.0, 0.4)])] == [True] * 4
    lost = run(POLICY, [(10.0, 0.0), (None, 1.0), (10.0, 0.0), (10.0, 0.0)])
    assert [s.possible for s in lost] == [True, False, False, True]
    assert [s.possible for s in run(POLICY, [(10.0, 0.6)] * 9)] == [False] * 9


@given(st.lists(st.tuples(median, loss), max_size=30))
def test_whoever_answers_nothing_is_never_possible_and_loss_stays_a_share(
    rounds: list[tuple[float | None, float]],
) -> None:
    for (median_ms, _), standing in zip(rounds, run(POLICY, rounds), strict=True):
        assert 0 <= standing.loss <= 1
        if standing.possible:
            assert median_ms is not None and median_ms <= POLICY.keep_rtt_ms and standing.loss <= POLICY.max_loss


@given(st.lists(st.floats(POLICY.rtt_ms, POLICY.keep_rtt_ms), max_size=30), st.booleans())
def test_nothing_changes_between_the_thresholds(medians: list[float], possible: bool) -> None:
    standing = Standing(possible, 0.0)
    for median_ms in medians:
        standing = judge(POLICY, standing, median_ms, 0.0)
        assert standing.possible is possible


def test_a_report_always_comes_in_time() -> None:
    for intervals in (1, 2, 3, 10):
        for seconds in (1.0, 60.0, 600.0):
            policy = Neighbours(probe_seconds=seconds, stale_intervals=intervals)
            late = 1.1 * seconds + report_seconds(policy)
            assert late < lifetime(policy).total_seconds()


@given(st.lists(STEPS, max_size=30))
def test_candidates_share_a_pool_and_are_active_and_it_is_mutual(steps: list[tuple[object, ...]]) -> None:
    intent = founded()
    told = {name: candidates(intent, name) for name in intent.cloudlets}
    for edit in steps:
        before, intent = intent, step(intent, edit)
        for name in concerned(before, intent) | told.keys() - intent.cloudlets.keys():
            told.pop(name, None)
        told |= {name: candidates(intent, name) for name in concerned(before, intent)}
        assert told == {name: candidates(intent, name) for name in intent.cloudlets}, "everybody concerned was told"
    found = {name: {c.cloudlet for c in told[name].candidates} for name in told}
    active = {name for name, c in intent.cloudlets.items() if c.state is CloudletState.ACTIVE}
    for name, others in found.items():
        assert others == {other for other in active - {name} if name in active and _share(intent, name, other)}
        assert all(name in found[other] for other in others)


def _share(intent: Intent, one: str, other: str) -> bool:
    here, there = intent.endpoints_of.get(one, ()), intent.endpoints_of.get(other, ())
    return any(intent.share(a.name, b.name) for a in here for b in there)


def test_other_settings_concern_everybody() -> None:
    intent = founded()
    other = intent.but(policy=replace(intent.policy, neighbours=Neighbours(probe_seconds=10)))
    assert concerned(intent, other) == frozenset(intent.cloudlets)
    assert candidates(other, "c0").probe_seconds == 10
    assert concerned(intent, intent.but(generation=9)) == frozenset()


@st.composite
def summaries(draw: st.DrawFn) -> Summary:
    rounds = draw(st.integers(1, 60))
    times = sorted(draw(st.lists(st.floats(0, 1000), min_size=3, max_size=3)))
    sent = 5 * rounds
    received = draw(st.integers(0, sent))
    low, middle, high = times if received else (None, None, None)
    jitter = draw(st.floats(0, 100)) if received > 1 else None
    return Summary(rounds, draw(st.sampled_from(["icmp", "udp", "tcp"])), sent, received, low, middle, high, jitter)


@given(st.lists(summaries(), min_size=1, max_size=20), st.randoms())
def test_rolled_up_nothing_is_lost_and_the_order_does_not_matter(parts: list[Summary], random: object) -> None:
    whole = rolled(parts)
    shuffled = list(parts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = rolled(shuffled)
    assert whole == again or whole.jitter_ms == pytest.approx(again.jitter_ms)
    for name in ("rounds", "sent", "received"):
        assert getattr(whole, name) == sum(getattr(p, name) for p in parts)
    if whole.received:
        assert whole.min_ms is not None and whole.median_ms is not None and whole.p95_ms is not None
        assert whole.min_ms == min(p.min_ms for p in parts if p.min_ms is not None)
        assert whole.min_ms <= whole.median_ms <= whole.p95_ms
    else:
        assert (whole.min_ms, whole.median_ms, whole.p95_ms, whole.jitter_ms) == (None,) * 4
    assert whole.method in {p.method for p in parts}
    assert rolled([parts[0]]) == parts[0] or parts[0].jitter_ms is not None


def test_spans_begin_on_the_hour_and_the_day_in_utc_and_rows_are_bounded() -> None:
    at = datetime(2026, 11, 21, 3, 59, 59, 999999, UTC)
    assert start(at, HOUR) == datetime(2026, 11, 21, 3, tzinfo=UTC)
    assert start(at, DAY) == datetime(2026, 11, 21, tzinfo=UTC)
    for probe_seconds, most in ((1.0, 7200), (10.0, 1440), (60.0, 1440), (600.0, 1440)):
        assert kept(ROUND, probe_seconds).total_seconds() / probe_seconds <= most
        assert kept(ROUND, probe_seconds) >= timedelta(seconds=HOUR) + neighbour_history.LATE


def test_bandwidth_follows_the_later_moves() -> None:
    estimate = None
    for seconds in (8.0, 4.0, 8.0, 4.0):
        estimate = bandwidths.after(estimate, 10**6, seconds)
    assert estimate is not None and estimate.moves == 4
    for _ in range(20):
        estimate = bandwidths.after(estimate, 10**6, 1.0)
    assert estimate.bits_per_second == pytest.approx(8e6, rel=0.01)
    for nonsense in ((-1, 1.0), (1, 0.0), (1, float("inf")), (1, float("nan"))):
        with pytest.raises(ValueError, match="a move of"):
            bandwidths.after(estimate, *nonsense)


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        (1, "c0 is a possible neighbour now"),
        (2, "c0 and c1 are possible neighbours now"),
        (4, "c0, c1, c2 and c3 are possible neighbours now"),
        (9, "c0, c1, c2 and 6 others are possible neighbours now"),
    ],
)
def test_events_are_sentences(count: int, sentence: str) -> None:
    assert _sentence([f"c{n}" for n in range(count)], True) == sentence


@given(st.lists(st.sampled_from(["new", "again", "restart"]), min_size=1, max_size=40))
def test_however_often_reports_come_a_round_is_known_once_and_none_is_missing(steps: list[str]) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    intake = Intake(POLICY, {"a", "b"}, at, {}, {})
    run, number, measured, last = 0, 0, 0, NeighbourReport(cloudlet="a", run="r0", measurements=[])
    for step_ in steps:
        at += timedelta(seconds=1)
        if step_ == "restart":
            run, number = run + 1, 0
        if step_ != "again":
            rounds = [
                Measurement(number=number + i, neighbour="b", age=0.1 * (3 - i), method="icmp", sent=1, received=0)
                for i in range(3)
            ]
            number, measured = number + 3, measured + 3
            last = NeighbourReport(cloudlet="a", run=f"r{run}", measurements=rounds)
        intake.take(last, at)
    assert len(intake.rounds) == measured
    assert intake.repeated == 3 * steps.count("again") if steps[0] != "again" else intake.repeated >= 0
