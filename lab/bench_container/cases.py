"""The containers, the lines and the ways of moving. Pure."""

from dataclasses import dataclass
from typing import Literal

from lab.containers.build import IMAGE, PYTHON

Way = Literal["whole", "podman", "weft"]
WAYS: tuple[Way, ...] = ("whole", "podman", "weft")
"""`whole`: the container is stopped, and its whole file system and its memory are copied, as Docker did; `podman`: its
checkpoint and restore, over one connection; `weft`: the driver `container`."""

RATES = (5, 10, 15, 20, 100, 600)
"""Mbit/s, as in Ma et al., section 6."""

RTT = 20.0  # ms


@dataclass(frozen=True)
class Service:
    """A container's image, command, and MiB of memory that it may use."""

    image: str
    command: str
    mib: int


SERVICES = {
    "busybox": Service(IMAGE, "/bin/sleep 1000000", 64),
    "python": Service(PYTHON, "/usr/bin/python3 /service.py 100", 512),
}
"""`busybox` is Ma's Busybox; `python`, with NumPy, 100 MiB of memory and 4 MiB in its layer, stands for OpenFace."""

MA: dict[tuple[str, int], float] = {
    ("python", 5): 48.9,
    ("python", 20): 17.8,
    ("busybox", 5): 3.2,
    ("busybox", 20): 3.2,
}
"""Seconds of a move in the paper, by service and rate (OpenFace and Busybox)."""
