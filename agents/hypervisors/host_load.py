"""The load of the host that runs machines (proc(5))."""

import logging
import os
from pathlib import Path

from controller.wire.host_loads import HostLoad

log = logging.getLogger(__name__)

_MEMORY, _LOAD = Path("/proc/meminfo"), Path("/proc/loadavg")


def memory_free() -> int:
    """Return the bytes that the kernel can give without swapping (MemAvailable)."""
    try:
        lines = _MEMORY.read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def look() -> HostLoad | None:
    """Return the load now; None if the kernel does not tell it."""
    try:
        busy = float(_LOAD.read_text().split()[0])
    except (OSError, ValueError, IndexError) as error:
        log.warning("the host's load cannot be read: %s", error)
        return None
    return HostLoad(processors=os.cpu_count() or 1, busy=busy, memory_free=memory_free())
