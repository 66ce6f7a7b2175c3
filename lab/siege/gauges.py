"""Memory and processor time of the region's daemons during a phase, sampled once a second."""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from lab.process import Process

PAUSE = 1.0


@dataclass(frozen=True)
class Gauge:
    """The figures of one daemon: resident memory at the beginning and at most, and seconds of a processor. `restarted`
    says that at the end it was another process than at the beginning, or none."""

    first_bytes: int
    most_bytes: int
    cpu_seconds: float
    restarted: bool


class Gauges:
    """Samples the daemons from its construction on."""

    def __init__(self, processes: Mapping[str, Process]) -> None:
        self._processes = processes
        self._pids = {name: process.pid for name, process in processes.items()}
        self._cpu = {name: process.cpu_seconds() for name, process in processes.items()}
        self._first = {name: process.resident_bytes() for name, process in processes.items()}
        self._most = dict(self._first)
        self.load = 0.0

    def found(self) -> dict[str, Gauge]:
        """Return the gauges by the daemon's name."""
        return {
            name: Gauge(
                self._first[name],
                self._most[name],
                round(process.cpu_seconds() - self._cpu[name], 2),
                process.pid != self._pids[name] or not process.pid,
            )
            for name, process in self._processes.items()
        }

    def sample(self, over: threading.Event) -> None:
        """Sample until `over` is set."""
        while not over.is_set():
            began = time.monotonic()
            for name, process in self._processes.items():
                self._most[name] = max(self._most[name], process.resident_bytes())
            self.load = max(self.load, os.getloadavg()[0])
            over.wait(max(0.0, PAUSE - (time.monotonic() - began)))
