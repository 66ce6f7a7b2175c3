"""The times at which a packet was sent and arrived. The kernel's time of arrival leaves out how long the event loop
took to look. It is in real time, which may be set meanwhile, so the monotonic clock has to agree."""

import socket
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass

SO_TIMESTAMPNS = 35  # linux/socket.h; the control message has the same number
_TIMESPEC = struct.Struct("@qq")

AT_ONCE = 100
"""Packets that are read before other callbacks of the event loop have their turn."""

Ancillary = Iterable[tuple[int, int, bytes]]
ROOM = socket.CMSG_SPACE(_TIMESPEC.size) + socket.CMSG_SPACE(4)
"""Bytes of control messages: a timestamp, and a time to live."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The same moment by two clocks, in seconds."""

    monotonic: float
    real: float


def now() -> Moment:
    """Return this moment."""
    return Moment(time.monotonic(), time.time())


def arrival(ancillary: Ancillary) -> Moment:
    """Return when the packet that is being read came in: by the kernel, where it gives the time."""
    here = now()
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS) and len(data) >= _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack_from(data)
            waited = here.real - (seconds + nanoseconds / 1e9)
            return Moment(here.monotonic - waited, here.real - waited)
    return here


def milliseconds(sent: Moment, came: Moment, read: Moment) -> float:
    """Return how long an answer took that was `read` after it `came`. If the clock was set in between, so that the
    answer seems to have come before the question or after it was read, the time of reading counts."""
    elapsed = came.monotonic - sent.monotonic
    if not 0 < elapsed <= read.monotonic - sent.monotonic:
        elapsed = read.monotonic - sent.monotonic
    return max(elapsed, 0.0) * 1000


def stamped(kind: socket.SocketKind, protocol: int, address: tuple[str, int]) -> socket.socket:
    """Return a socket that is bound there, does not block, and gives the times at which packets came. Raises
    OSError."""
    made = socket.socket(socket.AF_INET, kind, protocol)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made
