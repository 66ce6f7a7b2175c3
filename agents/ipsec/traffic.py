"""The traffic of a tunnel, counted across all changes of its keys. Pure."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class Traffic:
    """Octets and packets, before they are encrypted."""

    bytes_in: int = 0
    bytes_out: int = 0
    packets_in: int = 0
    packets_out: int = 0

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def since(self, before: "Traffic") -> "Traffic":
        """Return the increase since `before`. If a counter has gone back it has started again, so all of it counts."""
        grown = [a - b for a, b in zip(astuple(self), astuple(before), strict=True)]
        return self if min(grown) < 0 else Traffic(*grown)


class Meter:
    """Adds up the traffic of a tunnel's SAs: each counts for itself, and ends some seconds after its successor came.
    `total` only grows."""

    def __init__(self) -> None:
        self.total = Traffic()
        self._last: dict[str, Traffic] = {}

    def take(self, counts: Mapping[str, Traffic]) -> Traffic:
        """Take in the present counts of the SAs, by their numbers, and return the total."""
        for number, traffic in counts.items():
            self.total += traffic.since(self._last.get(number, Traffic()))
        self._last = dict(counts)
        return self.total
