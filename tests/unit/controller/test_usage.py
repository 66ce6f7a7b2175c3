"""The occupancy of LANs: counting, peaks, forecasts, and timely warnings."""

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.clock import now as real
from controller.core.usage import Peak, Usage, filling, forecast
from controller.leases import usage as work
from controller.leases.usage import Stocks
from tests.unit.controller.conftest import Controller
from tests.unit.controller.test_leases import lan, mac

NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)


def peaks(*counts: int) -> list[Peak]:
    return [(date(2026, 3, 31) - timedelta(days=len(counts) - 1 - i), count) for i, count in enumerate(counts)]


def test_a_lan_that_grows_is_full_when_the_line_says() -> None:
    told = forecast(Usage(100, leased=40), peaks(10, 20, 30, 40), NOON)
    assert told.per_day == 10
    assert told.full_at == NOON + timedelta(days=6)
    assert filling(Usage(100, leased=40), told, NOON)


def test_one_crowded_day_does_not_tilt_the_line() -> None:
    told = forecast(Usage(100, leased=13), peaks(10, 11, 90, 12, 12, 13), NOON)
    assert told.per_day is not None and 0 < told.per_day < 1.5
    assert not filling(Usage(100, leased=13), told, NOON)


@pytest.mark.parametrize(
    ("usage", "history", "reason"),
    [
        (Usage(10, leased=10), peaks(1, 2, 3), "full"),
        (Usage(10, excluded=4, leased=6), peaks(6, 6, 6), "full"),
        (Usage(10, leased=2), peaks(1, 2), "2 days of history; 3 are needed"),
        (Usage(10, leased=2), peaks(5, 4, 2), "not growing"),
        (Usage(10**9, leased=2), peaks(1, 2, 3), "growing, and not full for ten years"),
    ],
)
def test_what_cannot_be_told_says_why(usage: Usage, history: list[Peak], reason: str) -> None:
    told = forecast(usage, history, NOON)
    assert told.reason == reason
    assert (told.full_at is not None) == (reason == "full")


@given(
    st.integers(1, 2**20),
    st.lists(st.integers(0, 2**20), max_size=60),
    st.integers(0, 2**20),
    st.integers(0, 2**20),
)
def test_a_forecast_is_never_in_the_past(capacity: int, counts: list[int], leased: int, excluded: int) -> None:
    told = forecast(Usage(capacity, excluded, leased, leased), peaks(*counts), NOON)
    assert told.full_at is None or told.full_at >= NOON
    assert told.reason


async def test_counts_and_peaks_of_a_lan(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = await lan(controller, "10.1.0.0/28")
    empty = await controller.get("/addresses/c1-lan")
    assert (empty["capacity"], empty["leased"], empty["available"]) == (6, 0, 6)
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    for number in (1, 2, 3):
        await agent.lease(endpoint="c1-lan", mac=mac(number))
    await controller.region.leases.stocks.take()
    full = (await controller.get("/addresses"))["items"][0]
    assert (full["endpoint"], full["assigned"], full["leased"], full["available"]) == ("c1-lan", 2, 2, 4)
    assert [peak["leased"] for peak in full["peaks"]] == [2]
    assert full["forecast"] == "1 days of history; 3 are needed"
    monkeypatch.setattr(work, "now", lambda: real() + timedelta(hours=2))
    await controller.region.leases.stocks.take()
    later = await controller.get("/addresses/c1-lan")
    assert later["leased"] == 0 and max(peak["leased"] for peak in later["peaks"]) == 2


async def test_a_filling_lan_is_told_once_and_told_again_when_it_has_room(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await lan(controller, "10.1.0.0/28")
    for number in range(6):
        await agent.lease(endpoint="c1-lan", mac=mac(number))
    ahead = timedelta()
    monkeypatch.setattr(work, "now", lambda: real() + ahead)

    async def told() -> list[Any]:
        await controller.region.leases.stocks.take()
        events = await controller.get("/events", limit=1000)
        return [e["type"] for e in events["items"] if e["type"].startswith("lan-")]

    assert await told() == ["lan-filling"]
    ahead += timedelta(minutes=20)
    assert await told() == ["lan-filling"]
    ahead += timedelta(days=1)
    assert await told() == ["lan-filling", "lan-eased"]


async def test_a_large_region_is_looked_at_bit_by_bit(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn continues where the last one stopped; after that no LAN is examined until the next interval."""
    seen: list[list[str]] = []

    class Noted(Stocks):
        async def _take(self, session: AsyncSession, names: list[str], at: datetime) -> None:
            seen.append(names)

    intent: Any = SimpleNamespace(endpoints=dict.fromkeys(["e3", "e1", "e5", "e2", "e4"]))
    stocks = Noted(controller.region.database, lambda: intent)
    monkeypatch.setattr(work, "BATCH", 2)
    monkeypatch.setattr(work, "TURN", -1.0)
    for _ in range(5):
        await stocks.take()
    assert seen == [["e1", "e2"], ["e3", "e4"], ["e5"]]
    monkeypatch.setattr(work, "now", lambda: real() + work.EVERY)
    monkeypatch.setattr(work, "TURN", 60.0)
    await stocks.take()
    assert seen[3:] == seen[:3]
