"""The times at which advertisements are sent: they keep RFC 4861's bounds for any solicitations and any random
numbers."""

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from agents.dhcp.ra.schedule import MAX_INTERVAL, MIN_INTERVAL, Schedule


@given(st.lists(st.floats(0, 700), max_size=40), st.randoms(use_true_random=False))
def test_bounds(waits: list[float], dice: Random) -> None:
    """Solicitations come after these waits, and advertisements are sent on schedule meanwhile."""
    schedule = Schedule(0.0, dice.uniform)
    sent: list[float] = []
    now = 0.0

    def run(until: float) -> None:
        while schedule.due <= until:
            sent.append(schedule.due)
            schedule.advertised(schedule.due)

    run(now)
    for wait in waits:
        now += wait
        run(now)
        schedule.solicited(now)
        assert schedule.due <= max(now, sent[-1] + 3.0) + 0.5, "answered within half a second, or when it may be"
    run(now + 2000)
    gaps = [round(after - before, 6) for before, after in pairwise(sent)]
    assert all(3.0 <= gap <= MAX_INTERVAL for gap in gaps)
    assert all(gap <= 16.0 for gap in gaps[:2])


def test_unasked_it_keeps_to_its_interval() -> None:
    for take, expected in ((min, [16.0, 16.0, MIN_INTERVAL]), (max, [16.0, 16.0, MAX_INTERVAL])):
        schedule = Schedule(0.0, take)
        gaps = []
        for _ in range(3):
            before = schedule.due
            schedule.advertised(before)
            gaps.append(schedule.due - before)
        assert gaps == expected
