"""The neighbour tables: the round trips that decisions use."""

from datetime import datetime, timedelta

import pytest

from controller.changes.policies import Policies
from controller.core import edits
from controller.core.clock import now
from controller.core.membership import settled
from controller.core.policy.model import PolicyVcp, Rules
from controller.db import neighbours
from controller.db.neighbours import NeighbourRow
from tests.unit.controller.conftest import Controller
from tests.unit.policy.regions import cloudlet, region

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


async def test_medians_are_those_of_both_sides_and_only_fresh_ones(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        of_a = {"a": {"b": 10.0}, "b": {"a": 12.0}, "c": {"a": 7.0}, "d": {"a": 5.0}}
        assert await neighbours.medians(session, ["a"]) == of_a
        assert await neighbours.medians(session, ["a", "c", "nobody"]) == {**of_a, "b": {"a": 12.0, "c": 9.0}}
        assert await neighbours.medians(session, ["nobody"]) == await neighbours.medians(session, []) == {}
        assert await neighbours.medians(session, ["a"], AT + timedelta(days=2)) == {}
        found = await neighbours.among(session, [("a", "b"), ("a", "e"), ("b", "c"), ("c", "b"), ("a", "a")])
        assert {pair: word.median_ms for pair, word in found.items()} == {
            ("a", "b"): 10.0,
            ("a", "e"): 3.0,
            ("b", "c"): 9.0,
        }
        assert len(await neighbours.among(session, [("a", f"x{n}") for n in range(1500)] + [("a", "f")])) == 1
        monkeypatch.setattr(neighbours, "BATCH", 1)
        assert await neighbours.medians(session, ["a", "b", "c", "d"]) == await neighbours.all_medians(session)


async def test_following_an_edit_reads_the_round_trips_of_whom_a_split_leaves_alone(controller: Controller) -> None:
    rules = Rules(vcps={"metro": PolicyVcp("metro", automatic=True, max_rtt_ms=20)})
    intent = region(*(cloudlet(n, step=step) for step, n in enumerate((0, 1, 2, 4)))).but(policy=rules)
    intent = settled(intent, {"c2": {"c4": 50.0}}).intent
    async with controller.region.database.write() as session:
        session.add(row("c2", "c4", 50.0))
    async with controller.region.database.read() as session:
        after, _ = await Policies().follow(session, intent, edits.drain(intent, "c1"))
    assert {name: set(vcp.members) for name, vcp in after.vcps.items()} == {
        "metro-1": {"c0-lan"},
        "metro-2": {"c4-lan"},
        "metro-3": {"c2-lan"},
    }
