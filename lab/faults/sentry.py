"""Watches whether a machine runs twice: reads the kernel's times of its virtual CPUs at all cloudlets during a move."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu import process
from agents.hypervisors.qemu.vm import Vm

_LOOK = 0.25
_IDLE = 1
"""Ticks (of 10 ms) that a CPU may have used between two looks and still count as idle."""


class Sentry:
    """Watches from `with` to its end. `twice` counts the looks at which CPUs of more than one QEMU had worked, now and
    at the look before. A machine that was handed over in between has worked at both only once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self.twice = 0
        self._threads: dict[int, list[int]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._stand, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _stand(self) -> None:
        known: dict[int, int] = {}
        before = False
        while not self._over.wait(_LOOK):
            ticks = {pid: self._worked(pid, folder) for folder in self._folders if (pid := process.find(folder))}
            busy = sum(worked - known.get(pid, worked) > _IDLE for pid, worked in ticks.items())
            self.twice += before and busy > 1
            before, known = busy > 1, ticks

    def _worked(self, pid: int, folder: Path) -> int:
        if not self._threads.get(pid):
            self._threads[pid] = _cpus(folder)
        return sum(_ticks(pid, thread) for thread in self._threads[pid])


def _cpus(folder: Path) -> list[int]:
    """Return the threads of a QEMU's virtual CPUs; none if it does not answer now."""
    try:
        found = asyncio.run(Vm(folder).monitor.execute("query-cpus-fast"))
    except HypervisorError:
        return []
    return [int(cpu["thread-id"]) for cpu in found]


def _ticks(pid: int, thread: int) -> int:
    """Return the ticks that a thread has worked, or 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])
