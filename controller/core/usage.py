"""How full a LAN's address plan is, and when it will be. Pure.

What counts is pairs with a live lease: a pair that only waits for its device to come back can be given to another. The
forecast is a line through the daily peaks, drawn so that a single crowded day does not tilt it (Theil and Sen: the
median of all slopes).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import combinations
from statistics import median

DAYS = 28
"""How many of the latest daily peaks a forecast looks at."""

FEWEST = 3
"""Days without which nothing is foretold."""

FAR = 3650
"""Days beyond which a forecast says nothing that anybody could use."""

FULL = 0.9
"""Part of the pairs in use from which on a LAN is filling, whatever the forecast says."""

SOON = timedelta(days=7)
"""A LAN that will be full by then is filling."""

Peak = tuple[date, int]
"""A day, and the most pairs that had a live lease at one time on it."""


@dataclass(frozen=True)
class Usage:
    """In pairs: what the plan holds, what policy and static hosts take out of it, what
    has a device, and what has a live lease."""

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
        """Pairs that a newcomer could get now; those that only wait for their device are taken in the end."""
        return max(self.usable - self.leased, 0)

    @property
    def filled(self) -> float:
        """The part in use, 0..1; a LAN without usable pairs is full."""
        return min(self.leased / self.usable, 1.0) if self.usable > 0 else 1.0


@dataclass(frozen=True)
class Forecast:
    """`per_day` is the trend in pairs a day, `full_at` when the last pair goes; None where it cannot be told, and then
    `reason` says why."""

    per_day: float | None
    full_at: datetime | None
    reason: str


def forecast(usage: Usage, peaks: Sequence[Peak], now: datetime) -> Forecast:
    """When the LAN is full, by its daily peaks (in any order)."""
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
    """Whether somebody should be told."""
    return usage.filled >= FULL or (told.full_at is not None and told.full_at - now <= SOON)
