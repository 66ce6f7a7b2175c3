"""The order in which a cloudlet asks others for an image: the nearest first. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from controller.wire.images import MOST_SOURCES

ASSUMED = 100e6
"""Bits per second to a cloudlet from which nothing has been measured yet."""

TYPICAL = 256 << 20
"""Bytes of an image whose size is not known."""

OTHERS = 2
"""How many sources are not the nearest ones, if there are more than an answer has."""

TURN = 600
"""Seconds in which an answer stays the same."""


@dataclass(frozen=True)
class Holder:
    """A cloudlet that has the image, and serves it at `address`. `rtt_ms` is the median round trip between the two
    cloudlets, `bits` the measured bandwidth from there in bits per second; None: not known. `limit` is the policy's,
    None if it has none."""

    cloudlet: str
    address: str
    rtt_ms: float | None = None
    bits: float | None = None
    limit: int | None = None

    def seconds(self, size: int) -> float:
        """Return how long a fetch of `size` bytes from there would take."""
        bits = ASSUMED if self.bits is None else self.bits
        if self.limit is not None:
            bits = min(bits, self.limit)
        return (self.rtt_ms or 0.0) / 1000 + (size * 8 / bits if bits > 0 else float("inf"))


def nearest(holders: Iterable[Holder], size: int | None, turn: str = "") -> list[Holder]:
    """Return MOST_SOURCES of the holders, those first that a fetch of `size` bytes would take the least time from.
    Cloudlets to which nobody has measured a round trip come last, as they may be anywhere, or cut off. If there are
    more holders, the last OTHERS are of all that are left, others in each `turn`: tries meet every holder in the end,
    whatever keeps the nearest ones from answering."""
    bytes = TYPICAL if size is None else size
    order = sorted(holders, key=lambda h: (h.rtt_ms is None, h.seconds(bytes), h.rtt_ms or 0.0, h.cloudlet))
    if len(order) <= MOST_SOURCES:
        return order
    first = MOST_SOURCES - OTHERS
    others = Random(turn).sample(range(first, len(order)), OTHERS)
    return [*order[:first], *(order[index] for index in sorted(others))]
