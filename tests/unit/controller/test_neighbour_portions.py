"""Which reports on neighbours share a transaction: whoever brings little does not wait for whoever brings much."""

import asyncio
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from controller.db.base import now
from controller.neighbours import MOST_AT_ONCE, Arrival, _portions
from controller.wire.neighbours import Measurement, NeighbourReport

ROUND = Measurement(number=1, neighbour="c9", age=0, method="icmp", sent=1, received=0)


def arrivals(brought: list[tuple[str, int]]) -> list[Arrival]:
    async def made() -> list[Arrival]:
        loop = asyncio.get_running_loop()
        return [
            Arrival(
                NeighbourReport.model_construct(cloudlet=name, run=str(at), measurements=[ROUND] * rounds),
                now(),
                loop.create_future(),
            )
            for at, (name, rounds) in enumerate(brought)
        ]

    return asyncio.run(made())


@given(st.lists(st.tuples(st.sampled_from(["c1", "c2", "c3"]), st.integers(0, 2 * MOST_AT_ONCE)), max_size=20))
def test_all_go_once_in_the_order_of_their_cloudlet_and_few_at_a_time(brought: list[tuple[str, int]]) -> None:
    portions = list(_portions(arrivals(brought)))
    runs = defaultdict[str, list[int]](list)
    for arrival in (one for some in portions for one in some):
        runs[arrival.report.cloudlet].append(int(arrival.report.run))
    assert all(of == sorted(of) for of in runs.values())
    assert sorted(at for of in runs.values() for at in of) == list(range(len(brought)))
    for some in portions:
        assert len(some) == 1 or sum(len(one.report.measurements) for one in some) <= MOST_AT_ONCE


def test_the_long_report_of_one_goes_after_the_short_ones_of_others() -> None:
    brought = [("hostile", 900), *[(f"c{number}", 10) for number in range(9)], ("hostile", 0)]
    first, *later = _portions(arrivals(brought))
    assert {one.report.cloudlet for one in first} == {f"c{number}" for number in range(9)}
    assert [one.report.cloudlet for some in later for one in some] == ["hostile", "hostile"]
