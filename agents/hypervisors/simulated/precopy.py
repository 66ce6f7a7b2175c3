"""The arithmetic of a pre-copy migration (Clark et al., "Live Migration of Virtual Machines", NSDI 2005, section 3).
Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from controller.wire.moves import Tuning

THROTTLE_FIRST, THROTTLE_STEP, THROTTLE_MOST = 0.2, 0.1, 0.99
"""The part of its time that auto-converge takes from a machine that dirties too much: first, step and limit (QEMU's
defaults)."""


@dataclass(frozen=True)
class Rates:
    """`used` bytes of memory, of which `dirty` bytes are written each second; `bandwidth` in bits per second."""

    used: int
    dirty: float
    bandwidth: float

    def seconds(self, amount: float) -> float:
        """Return the seconds to send that many bytes."""
        return amount * 8 / self.bandwidth


def rounds(rates: Rates, tuning: Tuning) -> Iterator[int]:
    """Yield the bytes of each round, until the rest fits into the pause. Without auto-converge that may never be so."""
    left, throttle = float(rates.used), 0.0
    while True:
        yield int(left)
        before, left = left, rates.dirty * (1 - throttle) * rates.seconds(left)
        left = min(left, rates.used)
        if rates.seconds(left) * 1000 <= tuning.downtime_ms:
            return
        if tuning.auto_converge and left > before / 2:
            throttle = min(throttle + THROTTLE_STEP, THROTTLE_MOST) if throttle else THROTTLE_FIRST


def rest(rates: Rates, tuning: Tuning) -> int:
    """Return the bytes that are left for the pause."""
    return int(min(rates.dirty * tuning.downtime_ms / 1000, rates.bandwidth / 8 * tuning.downtime_ms / 1000))
