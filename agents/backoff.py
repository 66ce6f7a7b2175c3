"""Delays between attempts: short at first, so that a restart elsewhere is picked up quickly, then longer."""

from collections.abc import Callable
from random import random


class Backoff:
    """Doubles from `first` to `cap` seconds; each delay is spread over its upper half, so that many agents do not
    come back in step."""

    def __init__(self, first: float = 0.1, cap: float = 5.0, random: Callable[[], float] = random) -> None:
        self._first, self._cap, self._random = first, cap, random
        self._next = first

    def reset(self) -> None:
        """The last attempt succeeded."""
        self._next = self._first

    def delay(self) -> float:
        """Seconds to wait now."""
        ceiling, self._next = self._next, min(self._next * 2, self._cap)
        return ceiling * (0.5 + 0.5 * self._random())
