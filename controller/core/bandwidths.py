"""The bandwidth between two cloudlets, estimated from the duration of moves. Pure."""

from dataclasses import dataclass

WEIGHT = 0.3
"""The weight of the latest move, once there are enough moves for an average."""


@dataclass(frozen=True)
class Bandwidth:
    """Bits per second, measured over `moves` moves."""

    bits_per_second: float
    moves: int


def after(before: Bandwidth | None, bytes: int, seconds: float) -> Bandwidth:
    """Return the estimate after one more move: the mean of the first few, then an exponentially weighted moving
    average. Raises ValueError for a negative size, or a time that is not positive and finite."""
    if bytes < 0 or not 0 < seconds < float("inf"):
        raise ValueError(f"a move of {bytes} bytes in {seconds} s")
    measured = bytes * 8 / seconds
    if before is None:
        return Bandwidth(measured, 1)
    weight = max(WEIGHT, 1 / (before.moves + 1))
    return Bandwidth(before.bits_per_second + weight * (measured - before.bits_per_second), before.moves + 1)
