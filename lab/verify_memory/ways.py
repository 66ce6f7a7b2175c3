"""The ways of moving a machine's memory that the drivers offer. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from controller.wire.moves import Tuning

DRIVERS = ("qemu", "libvirt")
VCPUS = (1, 2)
TRANSFERS = ("zstd", "none", "xbzrle", "thin", "post-copy")
"""How memory goes, the drivers' default first."""


@dataclass(frozen=True)
class Way:
    """One way: a driver, how memory goes, and the number of the machine's virtual CPUs."""

    driver: str
    transfer: str
    vcpus: int

    @property
    def name(self) -> str:
        return f"{self.driver}/{self.transfer}/{self.vcpus}"

    @property
    def tuning(self) -> Tuning:
        """The tuning that the source and the destination get."""
        post_copy = self.transfer == "post-copy"
        return Tuning(compression=not post_copy and self.transfer != "none", post_copy=post_copy)

    @property
    def options(self) -> dict[str, str]:
        """The driver's options."""
        return {"compression": self.transfer} if self.tuning.compression else {}


ALL = tuple(Way(driver, transfer, vcpus) for driver in DRIVERS for vcpus in VCPUS for transfer in TRANSFERS)


def chosen(patterns: Sequence[str]) -> list[Way]:
    """Return the ways whose names match one of the shell patterns."""
    return [way for way in ALL if any(fnmatch(way.name, pattern) for pattern in patterns)]
