"""Bandwidth between two cloudlets, from what moves took. Pure."""

from dataclasses import dataclass

WEIGHT = 0.3
"""How much the latest move counts, once there are enough of them for an average."""


@dataclass(frozen=True)
class Bandwidth:
    """Bits per second, over `moves` moves."""

    bits_per_second: float
    moves: int


def after(before: Bandwidth | None, bytes: int, seconds: float) -> Bandwidth:
    """The estimate after one more move: the mean of the first few, then an exponentially weighted moving average.
    Raises ValueError for what cannot have been."""
    if bytes < 0 or not 0 < seconds < float("inf"):
        raise ValueError(f"a move of {bytes} bytes in {seconds} s")
    measured = bytes * 8 / seconds
    if before is None:
        return Bandwidth(measured, 1)
    weight = max(WEIGHT, 1 / (before.moves + 1))
    return Bandwidth(before.bits_per_second + weight * (measured - before.bits_per_second), before.moves + 1)
