"""The neighbour tables: what decisions are told of round trips."""

from datetime import datetime, timedelta

from controller.db import neighbours
from controller.db.base import now
from controller.db.neighbours import NeighbourRow
from tests.unit.controller.conftest import Controller

AT = now()


def row(cloudlet: str, neighbour: str, median: float | None, fresh_until: datetime | None = None) -> NeighbourRow:
    return NeighbourRow(
        cloudlet=cloudlet,
        neighbour=neighbour,
        at=AT,
        fresh_until=fresh_until or AT + timedelta(days=1),
        method="icmp",
        sent=5,
        received=0 if median is None else 5,
        median_ms=median,
        loss=0.0,
        possible=median is not None,
        since=AT,
    )


async def test_medians_are_those_of_both_sides_and_only_fresh_ones(controller: Controller) -> None:
    stale = AT - timedelta(seconds=1)
    async with controller.region.database.write() as session:
        session.add_all(
            [
                row("a", "b", 10.0),
                row("b", "a", 12.0),
                row("a", "c", None),
                row("c", "a", 7.0),
                row("d", "a", 5.0),
                row("a", "e", 3.0, stale),
                row("e", "a", 4.0, stale),
                row("a", "f", None),
                row("b", "c", 9.0),
            ]
        )
    async with controller.region.database.read() as session:
        assert await neighbours.medians(session, "a") == {"b": 12.0, "c": 7.0, "d": 5.0}
        assert await neighbours.medians(session, "nobody") == {}
        assert await neighbours.medians(session, "a", AT + timedelta(days=2)) == {}
        found = await neighbours.among(session, [("a", "b"), ("a", "e"), ("b", "c"), ("c", "b"), ("a", "a")])
        assert {pair: word.median_ms for pair, word in found.items()} == {
            ("a", "b"): 10.0,
            ("a", "e"): 3.0,
            ("b", "c"): 9.0,
        }
        assert len(await neighbours.among(session, [("a", f"x{n}") for n in range(1500)] + [("a", "f")])) == 1
