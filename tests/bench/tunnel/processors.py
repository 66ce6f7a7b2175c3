"""The load of the processors. Other work on the machine makes a run take longer, but does not change these figures."""

import os
from collections.abc import Iterable
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def used(pids: Iterable[int]) -> float:
    """Return the seconds of processor time that these processes have used so far, all threads (proc(5),
    /proc/PID/stat)."""
    return sum(sum(map(int, _fields(f"/proc/{pid}/stat")[11:13])) for pid in pids) / _TICK


def busy() -> tuple[float, float]:
    """Return the ticks in which processors worked, and all ticks."""
    ticks = _ticks()
    return float(sum(ticks) - ticks[3] - ticks[4]), float(sum(ticks))


def stolen() -> tuple[float, float]:
    """Return the ticks that the hypervisor below this machine gave to others (steal), and all ticks."""
    ticks = _ticks()
    return float(ticks[7]), float(sum(ticks))


def _ticks() -> list[int]:
    return [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def share(before: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the share of all ticks between two readings, 0..1."""
    return (after[0] - before[0]) / max(1.0, after[1] - before[1])


def _fields(path: str) -> list[str]:
    return Path(path).read_text().rpartition(")")[2].split()
