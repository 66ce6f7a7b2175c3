"""The prediction of a move from the known facts, and the decision based on it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.estimates import BANDWIDTH, DIRTY_RATE, DISK, Facts, Profile, estimate
from controller.core.follow_policy import Course, Relation, decide
from controller.core.policy.model import Migration
from controller.core.prediction import BUFFER_MS
from controller.core.profiles import Past
from controller.core.prospects import advice, prospect

facts = st.builds(
    Facts,
    vm=st.just("web"),
    image=st.just("debian"),
    memory=st.floats(1e6, 1e11),
    has_disk=st.booleans(),
    link=st.just(("c1", "c2")),
    memory_used=st.none() | st.floats(0, 1e11),
    dirty_rate=st.none() | st.floats(0, 1e9),
    rtt_ms=st.none() | st.floats(0, 3000),
    bandwidth=st.none() | st.floats(0, 1e11),
    bandwidth_back=st.none() | st.floats(1e3, 1e11),
)


@given(facts, st.sampled_from(Relation), st.booleans())
def test_what_was_gathered_is_what_is_decided_on(given: Facts, relation: Relation, can: bool) -> None:
    found = estimate(given)
    asked = prospect(relation, found, can)
    assert (asked.neighbour, asked.can_synthesise) == (relation, can)
    assert (asked.rtt_ms, asked.migration_seconds) == (found.rtt_ms, found.seconds)
    assert (asked.rtt_ms is None) == (given.rtt_ms is None)
    verdict = decide(Migration(), asked)
    if verdict.course is Course.MOVE:
        assert relation is Relation.POSSIBLE and given.rtt_ms is not None and given.rtt_ms <= 1000
    assert advice(verdict.course, "web", "c2-lan")


@given(facts, st.floats(0.1, 10), st.integers(1, 60))
def test_history_only_changes_what_it_is_about(given: Facts, factor: float, moves: int) -> None:
    """A history of the machine's own image is added to the same facts: the model's forecast stays the same unless one
    of its inputs comes from there, and the corrected forecast is the forecast times the factor."""
    past = [Profile(Past("debian", ("c1", "c2"), 10 * factor, 10), "other")] * moves
    bare, taught = estimate(given), estimate(Facts(**{**vars(given), "history": past}))
    assert taught.forecast == bare.forecast
    if taught.seconds is not None and taught.forecast is not None and taught.forecast.seconds is not None:
        assert taught.seconds == pytest.approx(taught.forecast.seconds * taught.correction.factor)
        assert (taught.correction.factor - 1) * (factor - 1) >= 0


def test_without_any_word_something_is_assumed() -> None:
    found = estimate(Facts("web", "debian", 1e9, True, ("c1", "c2"), rtt_ms=1.0))
    assert {name: one.value for name, one in found.inputs.items()} == {
        "memory": 1e9,
        "dirty_rate": DIRTY_RATE,
        "disk": DISK,
        "ratio": 1.0,
        "bandwidth": BANDWIDTH,
        "rtt_ms": 1.0,
        "buffer_ms": BUFFER_MS,
        "downtime_ms": 300.0,
    }
    kind = [Profile(Past("debian", ("c5", "c6"), 1, 1), "other", memory_used=7.0, disk=9.0)]
    taught = estimate(Facts("web", "debian", 1e9, True, ("c1", "c2"), rtt_ms=1.0, history=kind))
    assert (taught.inputs["memory"].value, taught.inputs["disk"].origin) == (7.0, "past moves of debian")


def test_a_driver_that_makes_images_in_rounds_leaves_the_line_idle_meanwhile() -> None:
    past = [Profile(Past("work", ("c1", "c2"), 1, 1), "other", idle=seconds) for seconds in (1.5, 2.0, 7.0)]
    vm = Facts("web", "work", 1e6, False, ("c1", "c2"), rtt_ms=1.0, history=past, dirty_rate=0.0)
    plain, rounds = estimate(vm), estimate(replace(vm, most_rounds=8))
    assert "idle" not in plain.inputs and rounds.inputs["idle"].value == 2.0
    assert plain.forecast is not None and rounds.forecast is not None
    assert rounds.forecast.seconds == pytest.approx((plain.forecast.seconds or 0.0) + 2.0)


PAST = Past("debian", ("c1", "c2"), 1, 1)
VM = Facts("web", "debian", 1e9, True, ("c1", "c2"), rtt_ms=1.0)


@pytest.mark.parametrize(
    ("name", "otherwise"), [("ratio", (1.0, "assumed: nothing is compressed")), ("disk", (float(32 << 20), "assumed"))]
)
def test_a_move_with_copies_at_both_ends_is_judged_by_such_moves(name: str, otherwise: tuple[float, str]) -> None:
    def found(kept: bool, *past: tuple[float, bool]) -> tuple[float | None, str]:
        history = [replace(Profile(PAST, "web", kept=had), **{name: value}) for value, had in past]  # type: ignore[arg-type]
        given = estimate(replace(VM, history=history, kept=kept)).inputs[name]
        return given.value, given.origin

    assert found(False, (0.4, False), (0.02, True), (0.02, True)) == (0.4, "its own past moves")
    assert found(True, (0.4, False), (0.4, False), (0.02, True)) == (
        0.02,
        "its own past moves with copies at both ends",
    )
    assert found(True, (0.4, False)) == (0.4, "its own past moves")
    assert found(False, (0.02, True)) == otherwise


def test_a_move_without_a_thin_line_is_judged_by_such_moves() -> None:
    """The savings of a thin line say nothing certain of it, and the other way round."""

    def ratio(direct: bool, *past: tuple[float, bool]) -> tuple[float | None, str, bool]:
        history = [Profile(PAST, "web", direct=went, ratio=value) for value, went in past]
        given = estimate(replace(VM, history=history, direct=direct)).inputs["ratio"]
        return given.value, given.origin, given.guessed

    assert ratio(True, (0.1, False), (0.1, False), (0.4, True)) == (
        0.4,
        "its own past moves without a thin line",
        False,
    )
    assert ratio(False, (0.1, False), (0.4, True), (0.4, True)) == (0.1, "its own past moves", False)
    assert ratio(True, (0.1, False)) == (0.1, "its own past moves", True)
    assert ratio(False, (0.4, True)) == (1.0, "assumed: nothing is compressed", True)
