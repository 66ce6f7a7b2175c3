"""Decides when the rest of a machine's memory fits into one pause. Pure.

QEMU sends memory in rounds. At the start of each round it finds out which memory the guest has written since. At its
end almost nothing is left, whether QEMU gains on the guest or not. The amount that the pause has to take is therefore
the most that was left at any time during the last two rounds.
"""

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement: at `time` (s) in round `number` there were `left` bytes to send, and `sent` had been sent.
    `rate` is the line's bandwidth in bytes per second, if somebody has measured it."""

    time: float
    number: int
    left: int
    sent: int
    rate: float | None = None


class Convergence:
    """The progress of one transfer; `pause` in seconds."""

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
        """Bytes per second, as measured or else so far; 0 before anything was sent."""
        if self._samples and (rate := self._samples[-1].rate) is not None:
            return rate
        if self._first is None or (elapsed := self._samples[-1].time - self._first.time) <= 0:
            return 0.0
        return (self._samples[-1].sent - self._first.sent) / elapsed

    @property
    def ready(self) -> bool:
        """Whether the rest fits into the pause; never before two rounds have been made."""
        if not self._samples or self._samples[-1].number < 3:
            return False
        if self._samples[-1].number - self._samples[0].number < 2:
            return False
        most = max(sample.left for sample in self._samples)
        return most <= self.bandwidth * self._pause
