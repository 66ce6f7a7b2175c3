"""Which reports on neighbours share a transaction: a small report does not wait for large ones."""

import asyncio
from collections import defaultdict
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.clock import now
from controller.core.neighbour_arrivals import MOST_AT_ONCE, OVERDUE, Arrival, Arrivals
from controller.wire.neighbours import Measurement, NeighbourReport

ROUND = Measurement(number=1, neighbour="c9", age=0, method="icmp", sent=1, received=0)
THEN = now()


def arrivals(brought: list[tuple[str, int]], after: timedelta = timedelta(0)) -> Arrivals:
    async def made() -> Arrivals:
        loop, all_ = asyncio.get_running_loop(), Arrivals()
        for at, (name, rounds) in enumerate(brought):
            measurements = [ROUND] * rounds
            report = NeighbourReport.model_construct(cloudlet=name, run=str(at), measurements=measurements)
            all_.add(Arrival(report, THEN + after, loop.create_future()))
        return all_

    return asyncio.run(made())


def portions(waiting: Arrivals) -> list[list[Arrival]]:
    found = []
    while waiting:
        found.append(waiting.portion(THEN))
    return found


@given(st.lists(st.tuples(st.sampled_from(["c1", "c2", "c3"]), st.integers(0, 2 * MOST_AT_ONCE)), max_size=20))
def test_all_go_once_in_the_order_of_their_cloudlet_and_few_at_a_time(brought: list[tuple[str, int]]) -> None:
    waiting = arrivals(brought)
    assert waiting.size == sum(max(1, rounds) for _, rounds in brought)
    found = portions(waiting)
    assert waiting.size == 0
    runs = defaultdict[str, list[int]](list)
    for arrival in (one for some in found for one in some):
        runs[arrival.report.cloudlet].append(int(arrival.report.run))
    assert all(of == sorted(of) for of in runs.values())
    assert sorted(at for of in runs.values() for at in of) == list(range(len(brought)))
    for some in found:
        assert len(some) == 1 or sum(one.size for one in some) <= MOST_AT_ONCE


def test_the_long_report_of_one_goes_after_the_short_ones_of_others() -> None:
    brought = [("hostile", 900), *[(f"c{number}", 10) for number in range(9)], ("hostile", 0)]
    first, *later = portions(arrivals(brought))
    assert {one.report.cloudlet for one in first} == {f"c{number}" for number in range(9)}
    assert [one.report.cloudlet for some in later for one in some] == ["hostile", "hostile"]


def test_a_short_report_that_comes_while_long_ones_are_written_is_next() -> None:
    waiting = arrivals([("hostile", 900)] * 5)
    assert [one.report.cloudlet for one in waiting.portion(THEN)] == ["hostile"]
    waiting.add(arrivals([("c1", 10)]).portion(THEN)[0])
    assert [one.report.cloudlet for one in waiting.portion(THEN)] == ["c1"]


def test_a_long_report_is_not_overtaken_for_ever() -> None:
    waiting = arrivals([("slow", 400)])
    for one in arrivals([("c1", 300), ("c2", 300)], OVERDUE).portion(THEN):
        waiting.add(one)
    assert [one.report.cloudlet for one in waiting.portion(THEN + 1.5 * OVERDUE)] == ["slow"]


@pytest.mark.parametrize(("waited", "left"), [(0.0, 1.0), (0.7, 0.3), (5.0, 0.0), (-3600.0, 1.0)])
def test_the_pause_is_the_one_s_that_has_waited_longest(waited: float, left: float) -> None:
    waiting = arrivals([("c1", 1)])
    waiting.add(arrivals([("c2", 1)], timedelta(seconds=9)).portion(THEN)[0])
    assert waiting.pause(THEN + timedelta(seconds=waited), 1.0) == pytest.approx(left)
