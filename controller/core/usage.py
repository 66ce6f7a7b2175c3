"""The usage of a LAN's address plan, and the forecast of when it will be full. Pure.

Only pairs with a live lease count: a pair that only waits for its device to come back can be given to another. The
forecast is a line through the daily peaks that a single crowded day does not tilt (Theil and Sen: the median of all
slopes)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import combinations
from statistics import median

DAYS = 28
"""The number of latest daily peaks that a forecast uses."""

FEWEST = 3
"""The fewest days for a forecast."""

FAR = 3650
"""The farthest forecast in days; beyond it, none is useful."""

FULL = 0.9
"""The part of the pairs in use from which on a LAN is filling, whatever the forecast."""

SOON = timedelta(days=7)
"""A LAN that will be full within this time is filling."""

Peak = tuple[date, int]
"""A day, and the most pairs that had a live lease at the same time on it."""


@dataclass(frozen=True)
class Usage:
    """Numbers of pairs: all of the plan, those that policy and static hosts exclude, those with a device, and those
    with a live lease."""

    capacity: int
    excluded: int = 0
    assigned: int = 0
    leased: int = 0

    @property
    def usable(self) -> int:
        """Pairs that can be given out at all."""
        return self.capacity - self.excluded

    @property
    def available(self) -> int:
        """Pairs that a new device could get now; those that only wait for their device are taken last."""
        return max(self.usable - self.leased, 0)

    @property
    def filled(self) -> float:
        """The part in use, 0..1; a LAN without usable pairs is full."""
        return min(self.leased / self.usable, 1.0) if self.usable > 0 else 1.0


@dataclass(frozen=True)
class Forecast:
    """`per_day` is the trend in pairs a day, `full_at` the time when the last pair is taken; None if unknown, and then
    `reason` says why."""

    per_day: float | None
    full_at: datetime | None
    reason: str


def forecast(usage: Usage, peaks: Sequence[Peak], now: datetime) -> Forecast:
    """Return when the LAN is full, by its daily peaks (in any order)."""
    if not usage.available:
        return Forecast(None, now, "full")
    days = sorted(peaks)[-DAYS:]
    if len(days) < FEWEST:
        return Forecast(None, None, f"{len(days)} days of history; {FEWEST} are needed")
    per_day = median((later[1] - early[1]) / (later[0] - early[0]).days for early, later in combinations(days, 2))
    if per_day <= 0:
        return Forecast(per_day, None, "not growing")
    level = max(median(count + per_day * (days[-1][0] - day).days for day, count in days), usage.leased)
    left = max(usage.usable - level, 0) / per_day
    if left > FAR:
        return Forecast(per_day, None, "growing, and not full for ten years")
    return Forecast(per_day, now + timedelta(days=left), f"growing by {per_day:.1f} pairs a day")


def filling(usage: Usage, told: Forecast, now: datetime) -> bool:
    """Return whether the LAN is filling, so that operators should be told."""
    return usage.filled >= FULL or (told.full_at is not None and told.full_at - now <= SOON)
