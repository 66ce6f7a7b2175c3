"""The control group of a container."""

import hashlib
from pathlib import Path

_OWN = Path("/proc/self/cgroup")


def group(folder: Path) -> str:
    """Return the name of the control group of the container of a folder. Two cloudlets may share a kernel."""
    return f"/weft/{hashlib.blake2b(bytes(folder), digest_size=8).hexdigest()}"


def unified() -> bool:
    """Return whether this host has control groups of version 2 alone (cgroups(7))."""
    return all(line.startswith("0::") for line in _OWN.read_text().splitlines())
