"""How much went through a tunnel, however often its keys were made anew meanwhile. Pure."""

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
        """What has come on top; all of it if a counter has gone back, as it then began anew."""
        grown = [a - b for a, b in zip(astuple(self), astuple(before), strict=True)]
        return self if min(grown) < 0 else Traffic(*grown)


class Meter:
    """Each SA counts for itself, and is gone some seconds after its successor came. `total` grows."""

    def __init__(self) -> None:
        self.total = Traffic()
        self._last: dict[str, Traffic] = {}

    def take(self, counts: Mapping[str, Traffic]) -> Traffic:
        """Takes in what the SAs that there are say now, by their numbers; gives the total."""
        for number, traffic in counts.items():
            self.total += traffic.since(self._last.get(number, Traffic()))
        self._last = dict(counts)
        return self.total
