"""A daemon of the lab in its namespace: started, watched, killed, started again.

It outlives the process that started it. The lab knows it by pid and start time together, so that it never touches a pid
that the kernel has given to another process.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from lab import netns
from lab.errors import LabError
from lab.state import LabState, Record, runs, start_time


class Process:
    """One named daemon. Its whole state is in the lab's record, so that another command can handle it as well."""

    def __init__(self, name: str, state: LabState) -> None:
        self.name = name
        self._state = state

    @property
    def record(self) -> Record:
        return self._state.processes[self.name]

    @property
    def pid(self) -> int:
        """The process id, or 0 if it does not run."""
        return self.record.pid if self.alive() else 0

    def alive(self) -> bool:
        record = self.record
        return runs(record.pid, record.start)

    def start(self) -> None:
        """Start the daemon, which must not be running. The record is written before and after."""
        if self.alive():
            raise LabError(f"{self.name} runs already (pid {self.pid})")
        record = self.record
        record.pid = record.start = 0
        self._state.save()
        log = Path(record.log)
        log.parent.mkdir(parents=True, exist_ok=True)
        argv = netns.command(netns.PREFIX + record.node, record.argv)
        record.pid = os.posix_spawn(
            "/usr/bin/env",
            ["env", *argv],
            {**os.environ, **record.env},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGHUP],
        )
        record.start = start_time(record.pid)
        self._state.save()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal (SIGKILL unless told). After SIGKILL wait until the daemon is gone."""
        if self.alive():
            _send(self.record.pid, number)
            if number == signal.SIGKILL:
                wait_gone([self], 5)

    def stop(self, seconds: float = 5) -> None:
        """Send SIGTERM, and SIGKILL after `seconds`."""
        stop([self], seconds)

    def last_words(self, lines: int = 5) -> str:
        """Return the end of its log."""
        try:
            text = Path(self.record.log).read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def resident_bytes(self) -> int:
        """Return its resident memory in bytes, or 0 if it does not run."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) if self.pid else 0
        except OSError:
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self) -> float:
        """Return its user and system time so far, or 0 if it does not run."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split() if self.pid else []
        except OSError:
            fields = []
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def stop(processes: Iterable[Process], seconds: float = 5) -> None:
    """Send SIGTERM to all that run, and SIGKILL to those that still run after `seconds`."""
    running = [process for process in processes if process.alive()]
    for process in running:
        _send(process.record.pid, signal.SIGTERM)
    for process in wait_gone(running, seconds):
        _send(process.record.pid, signal.SIGKILL)
    wait_gone(running, 5)


def wait_gone(processes: Iterable[Process], seconds: float) -> list[Process]:
    """Wait until none of them runs. Return those that still do."""
    deadline = time.monotonic() + seconds
    left = list(processes)
    while left and time.monotonic() < deadline:
        left = [process for process in left if process.alive()]
        if left:
            time.sleep(0.02)
    return left


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
