"""Limits on request rates: a token bucket for each key, kept as one number (GCRA, ATM Forum TM 4.0, annex C)."""

from collections.abc import Hashable

MANY = 10_000
"""Number of buckets above which the full ones are forgotten."""


class RateLimiter:
    """Each key may ask `rate` times a second over time, and `burst` times at once. A rate of 0 is no limit."""

    def __init__(self, rate: float, burst: float) -> None:
        self._gap = 1 / rate if rate else 0.0
        self._depth = self._gap * max(burst, 1)
        self._full: dict[Hashable, float] = {}  # when the bucket of a key is full again
        self._many = MANY

    def __len__(self) -> int:
        return len(self._full)

    def take(self, key: Hashable, now: float) -> float:
        """Take one token at `now`, in seconds of any steady clock. Return 0, or the seconds until there is one; then
        nothing was taken."""
        full = max(self._full.get(key, now), now) + self._gap
        wait = full - now - self._depth
        if wait > 1e-9:
            return wait
        self._keep(key, full, now)
        return 0.0

    def charge(self, key: Hashable, now: float, amount: float) -> None:
        """Take `amount` tokens of `key`, also if there are not so many: for costs that show only afterwards."""
        self._keep(key, max(self._full.get(key, now), now) + amount * self._gap, now)

    def _keep(self, key: Hashable, full: float, now: float) -> None:
        self._full[key] = full
        if len(self._full) > self._many:
            self._full = {each: then for each, then in self._full.items() if then > now}
            self._many = max(MANY, 2 * len(self._full))
