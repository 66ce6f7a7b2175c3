"""Decides which candidate to probe next, and when. Pure, except for random numbers.

The candidates stand in a ring, and every `interval / candidates` seconds the next one has its turn: however many they
are, their rounds are spread evenly, and each has one per interval. A small random shift of every turn, and of the
beginning, keeps the cloudlets of a region out of step with each other. A candidate that has just been announced does
not wait for a turn: the new ones are probed at once, one shortly after the other.
"""

from collections import deque
from collections.abc import Callable, Iterable
from random import Random

URGENT_GAP = 0.05
"""Seconds between the rounds of two new candidates: twenty of them take a second, 1,000 most of a minute."""

FIRST = 1.0
"""Seconds within which the first new candidate has its round."""

SLACK = 0.2
"""A turn is shifted by up to a quarter of the time between two turns, or of this share of the interval."""


class Ring:
    """The ring of candidates. Times are in seconds, of any monotonic clock. `random` returns 0..1."""

    def __init__(self, random: Callable[[], float] | None = None) -> None:
        self._random = random or Random().random
        self._interval = 60.0
        self._ring: deque[str] = deque()
        self._urgent: deque[str] = deque()
        self._turn = self._chance = self._urgent_turn = 0.0

    def __len__(self) -> int:
        return len(self._ring) + len(self._urgent)

    def update(self, names: Iterable[str], interval: float, now: float) -> None:
        """Set the candidates. Those that stay keep their turn."""
        wanted = set(names)
        self._interval = interval
        known = {*self._ring, *self._urgent}
        self._ring = deque(name for name in self._ring if name in wanted)
        self._urgent = deque(name for name in self._urgent if name in wanted)
        new = sorted(wanted - known, key=lambda name: (self._random(), name))
        if new and not self._urgent:
            self._urgent_turn = max(self._urgent_turn, now + FIRST * self._random())
        if not known:
            self._turn = now + FIRST + interval * (0.1 + 0.4 * self._random())
        self._turn = min(self._turn, now + interval)
        self._urgent.extend(new)

    def next(self) -> float | None:
        """Return when the next round is due, or None if there is no candidate."""
        times = [self._urgent_turn] if self._urgent else []
        times += [self._turn + self._chance] if self._ring else []
        return min(times, default=None)

    def pop(self, now: float) -> tuple[str, bool]:
        """Return the candidate of the due round, and whether it was announced just now. Call this only when the time of
        `next` has come. Turns that were missed because the machine slept are not made up for."""
        if self._urgent and (not self._ring or self._urgent_turn <= self._turn + self._chance):
            name = self._urgent.popleft()
            self._ring.append(name)
            self._urgent_turn = now + URGENT_GAP
            return name, True
        name = self._ring[0]
        self._ring.rotate(-1)
        gap = self._interval / len(self._ring)
        self._turn = max(self._turn + gap, now)
        self._chance = min(gap, SLACK * self._interval) * (self._random() - 0.5) / 2
        return name, False
