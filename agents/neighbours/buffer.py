"""Rounds on their way to the controller. They stay in memory: an agent that ends loses what it has not reported, and
the next probes replace that within an interval. Pure."""

from collections import deque
from itertools import islice

from agents.neighbours.samples import Round
from controller.wire.neighbours import Measurement

MOST = 10_000
"""Most rounds that are kept while the controller is away: eight hours with 20 neighbours, ten minutes with 1,000."""

BATCH = 1000
"""Most rounds in one report."""


class Buffer:
    """Rounds in the order of their numbers. Beyond `most` the oldest are dropped, and counted in `dropped`."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._rounds: deque[tuple[int, str, float, Round]] = deque()
        self._number = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._rounds)

    def add(self, neighbour: str, at: float, round: Round) -> None:
        """Keep a round that ended at that time (monotonic)."""
        self._rounds.append((self._number, neighbour, at, round))
        self._number += 1
        if len(self._rounds) > self._most:
            self._rounds.popleft()
            self.dropped += 1

    def batch(self, now: float, most: int = BATCH) -> list[Measurement]:
        """Return the oldest rounds in the form of the report. They stay in the buffer."""
        return [
            Measurement(
                number=number,
                neighbour=neighbour,
                age=max(0.0, round(now - at, 3)),
                method=found.method,
                sent=found.sent,
                received=found.received,
                min_ms=found.min_ms,
                median_ms=found.median_ms,
                p95_ms=found.p95_ms,
                jitter_ms=found.jitter_ms,
            )
            for number, neighbour, at, found in islice(self._rounds, most)
        ]

    def acknowledge(self, number: int, *, refused: bool = False) -> None:
        """Remove all rounds up to that number: the controller has them, or with `refused` will never take them."""
        while self._rounds and self._rounds[0][0] <= number:
            self._rounds.popleft()
            self.dropped += refused
