"""Sizes of memory and disks in readable form."""

import re

from controller.cli.failures import WrongUsage
from controller.wire.sizes import UNITS


def in_bytes(option: str, text: str) -> int:
    """Return the bytes of a size such as `512M` or `4G`, in powers of 1024. Raises WrongUsage, which names the
    option."""
    found = re.fullmatch(r"(\d{1,15})\s*([KMGT])(?:iB)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise WrongUsage(f"{option} {text!r}: a size has a unit (K, M, G, T), as in 512M or 4G")
    return int(found[1]) << UNITS[found[2].upper()]


def size(value: object) -> str:
    """Return a size such as `512 MiB` or `1.5 GiB`."""
    if not isinstance(value, int | float):
        return "-"
    for unit, power in reversed(UNITS.items()):
        if value >= 1 << power:
            return f"{value / (1 << power):.4g} {unit}iB"
    return f"{value:.0f} B"


def mbits(value: object) -> str:
    """Return bits per second as Mbit/s, such as `94.1`."""
    return f"{value / 1e6:,.1f}" if isinstance(value, int | float) else "-"


def seconds(value: object) -> str:
    """Return a duration such as `0.42 s` or `84 s`."""
    if not isinstance(value, int | float):
        return "-"
    return f"{value:.2f} s" if value < 10 else f"{value:,.0f} s"
