"""Sizes of memory and disks, as people write them."""

import re

from controller.cli.failures import WrongUsage

UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def in_bytes(option: str, text: str) -> int:
    """`512M`, `4G`, or bytes, in powers of 1024. Raises WrongUsage, which names the option."""
    found = re.fullmatch(r"(\d{1,15})\s*(?:([KMGT])(?:iB)?)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise WrongUsage(f"{option} {text!r}: a size is a number of bytes, or such as 512M or 4G")
    return int(found[1]) << UNITS.get((found[2] or "").upper(), 0)


def size(value: object) -> str:
    """`512 MiB`, `1.5 GiB`."""
    if not isinstance(value, int | float):
        return "-"
    for unit, power in reversed(UNITS.items()):
        if value >= 1 << power:
            return f"{value / (1 << power):.4g} {unit}iB"
    return f"{value:.0f} B"


def mbits(value: object) -> str:
    """Bits per second as `94.1` Mbit/s."""
    return f"{value / 1e6:,.1f}" if isinstance(value, int | float) else "-"


def seconds(value: object) -> str:
    """`0.42 s`, `84 s`."""
    if not isinstance(value, int | float):
        return "-"
    return f"{value:.2f} s" if value < 10 else f"{value:,.0f} s"
