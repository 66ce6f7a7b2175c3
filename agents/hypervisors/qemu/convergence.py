"""When the rest of a machine's memory goes in one pause. Pure.

QEMU sends memory in rounds: at the beginning of each it finds out what the guest has written since, and by its end
nearly nothing is left, whether it gains on the guest or not. So it is the most that was left at any time during the
last two rounds that has to go in the pause.
"""

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """At `time` (s) in round `number` there were `left` bytes to send, and `sent` had gone."""

    time: float
    number: int
    left: int
    sent: int


class Convergence:
    """Follows one transfer; `pause` in seconds."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._samples: deque[Sample] = deque()
        self._first: Sample | None = None

    def add(self, sample: Sample) -> None:
        self._first = self._first or sample
        self._samples.append(sample)
        while len(self._samples) > 2 and self._samples[1].number <= sample.number - 2:
            self._samples.popleft()

    @property
    def bandwidth(self) -> float:
        """Bytes per second so far; 0 before anything was sent."""
        if self._first is None or (elapsed := self._samples[-1].time - self._first.time) <= 0:
            return 0.0
        return (self._samples[-1].sent - self._first.sent) / elapsed

    @property
    def ready(self) -> bool:
        """Not before two rounds have been made."""
        if not self._samples or self._samples[-1].number < 3:
            return False
        if self._samples[-1].number - self._samples[0].number < 2:
            return False
        most = max(sample.left for sample in self._samples)
        return most <= self.bandwidth * self._pause
