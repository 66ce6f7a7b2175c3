"""Delays between attempts: short at first, so that a program that restarts is found again quickly, then longer."""

from collections.abc import Callable
from random import random


class Backoff:
    """Delays that double from `first` to `cap` seconds. Each is a random value in the upper half of its range, so that
    many agents do not retry at the same time."""

    def __init__(self, first: float = 0.1, cap: float = 5.0, random: Callable[[], float] = random) -> None:
        self._first, self._cap, self._random = first, cap, random
        self._next = first

    def reset(self) -> None:
        """Start again with the first delay, because the last attempt succeeded."""
        self._next = self._first

    def delay(self) -> float:
        """Return the seconds to wait before the next attempt."""
        ceiling, self._next = self._next, min(self._next * 2, self._cap)
        return ceiling * (0.5 + 0.5 * self._random())
