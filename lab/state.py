"""The lab's record of what it makes, on disk before and after it is made, so that `down` finds all of it whichever
process died in between."""

import contextlib
import json
import os
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from lab.errors import LabError
from lab.paths import STATE


@dataclass
class Record:
    """A process: its command line and environment and, once it runs, its pid and start time (clock ticks since boot).

    A pid of 0 with a `start` of 0 means that it was about to be started, or has been stopped.
    """

    node: str
    argv: list[str]
    env: dict[str, str]
    log: str
    pid: int = 0
    start: int = 0


@dataclass
class LabState:
    """The whole record. `phase` is `building` until everything runs, then `up`. Times are seconds since the epoch."""

    topology: str
    digest: str
    started_at: float
    phase: str = "building"
    emulator: str = ""
    boot: str = field(default_factory=lambda: boot_id())
    namespaces: list[str] = field(default_factory=list)
    processes: dict[str, Record] = field(default_factory=dict)
    leases: dict[str, str] = field(default_factory=dict)
    leases6: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def save(self) -> None:
        with self._lock:
            STATE.parent.mkdir(parents=True, exist_ok=True)
            written = STATE.with_suffix(".new")
            written.write_text(json.dumps(asdict(self), indent=1) + "\n")
            written.replace(STATE)

    @classmethod
    def read(cls) -> Self | None:
        """Return the record on disk, or None if there is none or it is of an earlier boot. Raises LabError if it is
        damaged."""
        try:
            data: dict[str, Any] = json.loads(STATE.read_text())
            data["processes"] = {name: Record(**record) for name, record in data["processes"].items()}
            state = cls(**data)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise LabError(f"{STATE} cannot be read", "weft-lab down removes the lab without it") from None
        return state if state.boot == boot_id() else None

    @staticmethod
    def forget() -> None:
        STATE.unlink(missing_ok=True)


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> int:
    """Return when a process started, in clock ticks since boot, or 0 if there is none."""
    return _stat(pid)[1]


def runs(pid: int, start: int) -> bool:
    """Return whether the process that had this pid at that start time still runs. Collect it if it was a child and has
    ended."""
    letter, began = _stat(pid)
    if not pid or not start or began != start:
        return False
    if letter == "Z":
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return letter not in "ZX"


def _stat(pid: int) -> tuple[str, int]:
    try:
        # The name in parentheses may hold spaces and parentheses itself; the fields after it do not.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "X", 0
    return fields[0], int(fields[19])
