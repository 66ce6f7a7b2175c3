"""The daemons of a lab that is up or being built: starts, lists and watches them while something is waited for."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from lab.errors import LabError
from lab.paths import LAB
from lab.process import Process
from lab.state import LabState, Record


class Watch:
    """The daemons that the lab's record names."""

    def __init__(self, state: LabState) -> None:
        self._state = state

    @property
    def processes(self) -> Mapping[str, Process]:
        """The daemons by name."""
        return {name: Process(name, self._state) for name in self._state.processes}

    def start(self, records: dict[str, Record]) -> None:
        """Start processes of the lab, which end with it."""
        self._state.processes |= records
        for name in records:
            Process(name, self._state).start()

    def wait(self, done: Callable[[], bool], seconds: float, otherwise: str | Callable[[], str]) -> None:
        """Wait for `done`. A daemon that dies meanwhile ends the wait with the end of its log. Raises LabError."""
        deadline = time.monotonic() + seconds
        while not done():
            for process in self.processes.values():
                if not process.alive():
                    raise LabError(f"{process.name} has ended; its log says:\n{process.last_words()}")
            if time.monotonic() > deadline:
                reason = otherwise if isinstance(otherwise, str) else otherwise()
                raise LabError(f"{reason} after {seconds:g} s", f"logs: {LAB}")
            time.sleep(0.1)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per daemon: name, node, state, pid, resident_bytes, cpu_seconds, log."""
        return [
            {
                "name": name,
                "node": process.record.node,
                "state": "running" if process.alive() else "stopped",
                "pid": process.pid,
                "resident_bytes": process.resident_bytes(),
                "cpu_seconds": round(process.cpu_seconds(), 2),
                "log": process.record.log,
            }
            for name, process in self.processes.items()
        ]
