"""Slots, stalls and rates from the bytes that a device received."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lab.throughput import Span, rates, slots, stall, steps

# Bytes until 4 s, none until 9.5 s, then all the time but for a pause of 0.4 s.
WALKED = [
    *((at / 100, 20_000.0) for at in range(400)),
    *((at / 100, 20_000.0) for at in range(950, 2000)),
    *((at / 100, 20_000.0) for at in range(2040, 2500)),
]


def test_the_slots_are_those_of_the_paper() -> None:
    found = slots(WALKED, 25.0, lost=4.0, back=9.0, stopped=19.8, runs=20.3)
    assert "".join(slot.name for slot in found) == "ABCDE"
    assert [round(slot.seconds, 2) for slot in found] == [4.0, 5.5, 10.49, 0.41, 4.6]


def test_a_silence_elsewhere_is_not_the_pause() -> None:
    late = [(at, count) for at, count in WALKED if not 11 <= at < 13]
    found = slots(late, 25.0, lost=4.0, back=9.0, stopped=19.8, runs=20.3)
    assert round(found[3].seconds, 2) == 0.41


@given(
    times=st.lists(st.integers(0, 3000), unique=True).map(sorted),
    events=st.lists(st.floats(0, 30, allow_nan=False), min_size=4, max_size=4).map(sorted),
)
def test_slots_follow_on_each_other(times: list[int], events: list[float]) -> None:
    lost, back, stopped, runs = events
    found = slots([(at / 100, 1.0) for at in times], 30.0, lost=lost, back=back, stopped=stopped, runs=runs)
    assert (found[0].began, found[-1].ended) == (0.0, 30.0)
    assert all(one.ended == other.began for one, other in pairwise(found))
    assert all(slot.seconds >= 0 for slot in found)


def test_a_stall_is_the_longest_that_has_a_part_in_the_time() -> None:
    assert stall(WALKED, 0.0, 25.0) == Span("stall", 3.99, 9.5)
    assert stall(WALKED, 10.0, 25.0) == Span("stall", 19.99, 20.4)
    assert stall([], 1.0, 2.0).seconds == 0


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(1, 10**6)), unique_by=lambda slot: slot[0]).map(sorted))
def test_no_byte_is_lost_in_the_rates(series: list[tuple[int, int]]) -> None:
    found = rates([(at / 100, float(count)) for at, count in series], 10.0, 0.1)
    assert len(found) == 100
    assert math.isclose(sum(found) * 0.1 * 1e6 / 8, sum(count for _, count in series))


def test_steps_are_those_that_were_taken() -> None:
    step = {"detail": "", "began_at": "2026-01-01T00:00:01+00:00", "ended_at": "2026-01-01T00:00:03.5+00:00"}
    move = {
        "steps": [
            {**step, "step": "memory", "undoing": False, "state": "failed"},
            {**step, "step": "abort", "undoing": True, "state": "done"},
            {**step, "step": "disk", "undoing": False, "state": "skipped"},
            {**step, "step": "normal", "undoing": False, "state": "done"},
            {**step, "step": "join", "undoing": False, "state": "running", "ended_at": None},
        ]
    }
    assert steps(move, 1767225600.0) == [Span("memory", 1.0, 3.5), Span("undo: abort", 1.0, 3.5)]
