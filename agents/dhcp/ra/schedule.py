"""When to advertise (RFC 4861, sections 6.2.4, 6.2.6 and 10). Pure; times are in seconds of any monotonic clock."""

from collections.abc import Callable

MAX_INTERVAL = 600.0
MIN_INTERVAL = MAX_INTERVAL / 3
LIFETIME = 3 * int(MAX_INTERVAL)
"""Seconds for which devices believe an advertisement: a gateway that restarts within them is missed by nobody."""

_INITIAL_INTERVAL = 16.0
_INITIAL = 3  # advertisements in quick succession, for the devices that are there
_LEAST_BETWEEN = 3.0
_LONGEST_DELAY = 0.5  # before an answer


class Schedule:
    """All answers are multicast, and many solicitations get one. `between` gives a random number between two."""

    def __init__(self, now: float, between: Callable[[float, float], float]) -> None:
        self._between = between
        self._sent = 0
        self._last = float("-inf")
        self.due = now
        """When to advertise next."""

    def solicited(self, now: float) -> None:
        """Somebody has just asked."""
        delay = self._between(0, _LONGEST_DELAY)
        self.due = min(self.due, max(now, self._last + _LEAST_BETWEEN) + delay)

    def advertised(self, now: float) -> None:
        """It has just been done."""
        self._sent += 1
        self._last = now
        interval = self._between(MIN_INTERVAL, MAX_INTERVAL)
        self.due = now + (min(interval, _INITIAL_INTERVAL) if self._sent < _INITIAL else interval)
