"""An attacker: a program in a namespace of the lab, at a low priority, that prints at its end what it has counted."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import netns
from lab.errors import LabError
from lab.paths import LAB, ROOT

NICE = "10"
"""The priority of attackers. In reality they have machines of their own; here they share two cores with their
victims."""


class Attack:
    """One attacker, from construction until `end`."""

    def __init__(self, name: str, node: str, argv: Sequence[str], *, nice: str = NICE) -> None:
        self.name = name
        LAB.mkdir(parents=True, exist_ok=True)
        self._said = tempfile.TemporaryFile("w+", dir=LAB)  # noqa: SIM115 - closed by end
        self._process = subprocess.Popen(
            netns.command(netns.PREFIX + node, ["nice", "-n", nice, *argv]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        group(self._process.pid, nice)

    @property
    def runs(self) -> bool:
        """Whether it has not ended by itself."""
        return self._process.poll() is None

    def counted(self) -> dict[str, Any]:
        """Stop the attacker, and return its counts. If it prints none, that is its own defect; all else is still
        measured."""
        try:
            return self.end()
        except LabError as error:
            return {f"defect: {error}": 1}

    def end(self, seconds: float = 15) -> dict[str, Any]:
        """Stop the attacker, and return its output. Raises LabError if there is none."""
        if self.runs:
            self._process.send_signal(signal.SIGTERM)
        try:
            out, _ = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            out, _ = self._process.communicate()
        self._said.seek(0)
        said = self._said.read()
        self._said.close()
        try:
            found: dict[str, Any] = json.loads(out)
        except ValueError:
            raise LabError(f"{self.name} ended with {self._process.returncode} and no counts: {said[-2000:]}") from None
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.runs:
            self._process.kill()
            self._process.communicate()
        self._said.close()


def program(module: str, *words: str) -> list[str]:
    """Return the command line of a module of this package."""
    return [sys.executable, "-m", f"lab.siege.{module}", *words]


def group(pid: int, nice: str) -> None:
    """Give the session of a process that priority among all. Where the kernel divides processors among sessions first
    (autogroups), a process's own priority counts only within its session."""
    with suppress(FileNotFoundError, ProcessLookupError):
        Path(f"/proc/{pid}/autogroup").write_text(nice)
