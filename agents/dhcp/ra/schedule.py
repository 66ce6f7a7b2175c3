"""The times of advertisements (RFC 4861, sections 6.2.4, 6.2.6 and 10). Pure; seconds of any monotonic clock."""

from collections.abc import Callable

MAX_INTERVAL = 600.0
MIN_INTERVAL = MAX_INTERVAL / 3
LIFETIME = 3 * int(MAX_INTERVAL)
"""Seconds for which devices believe an advertisement: no device notices a gateway that restarts within them."""

_INITIAL_INTERVAL = 16.0
_INITIAL = 3  # advertisements in quick succession, for the devices that are there
_LEAST_BETWEEN = 3.0
_LONGEST_DELAY = 0.5  # seconds before an answer


class Schedule:
    """The times at which to advertise. All answers are multicast, and several solicitations get one answer. `between`
    returns a random number between its two arguments."""

    def __init__(self, now: float, between: Callable[[float, float], float]) -> None:
        self._between = between
        self._sent = 0
        self._last = float("-inf")
        self.due = now
        """The time of the next advertisement."""

    def solicited(self, now: float) -> None:
        """Note that a solicitation has just come."""
        delay = self._between(0, _LONGEST_DELAY)
        self.due = min(self.due, max(now, self._last + _LEAST_BETWEEN) + delay)

    def advertised(self, now: float) -> None:
        """Note that an advertisement has just been sent."""
        self._sent += 1
        self._last = now
        interval = self._between(MIN_INTERVAL, MAX_INTERVAL)
        self.due = now + (min(interval, _INITIAL_INTERVAL) if self._sent < _INITIAL else interval)
