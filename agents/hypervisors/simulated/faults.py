"""The faults that a simulated hypervisor is to have: stored in a file, so that they can be set while an agent runs."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Literal

from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.storage import durable

Kind = Literal["fails", "refuses", "hangs", "slow", "dies", "kills", "garbles"]
"""The kinds of faults. The driver `fails` or `refuses`, never answers (`hangs`), or takes `seconds` longer (`slow`).
The machine `dies`. The whole process, which the controller sees as the agent, is killed as by kill -9 (`kills`). The
driver raises an error that no driver should raise (`garbles`), like one that expects a guest's answer to be right."""

Fault = tuple[Kind, int, float]
"""The kind of a fault, how often it happens, and the seconds of `slow`."""


class Died(HypervisorError):  # noqa: N818 - an event
    """Raised when the simulated machine has ended by itself."""


class Faults:
    """The faults by point. A point is the name of a call (`switchover`) for its beginning, with `.after` for its end.
    `disk.half`, `memory.half`, `switchover.paused` and `switchover.handed` are in between."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "faults.json"

    def set(self, point: str, kind: Kind, times: int = 1, seconds: float = 0.0) -> None:
        """Set a fault for the next `times` times."""
        self._write({**self._read(), point: (kind, times, seconds)})

    def clear(self) -> None:
        """Delete all faults."""
        self._write({})

    async def strike(self, point: str) -> None:
        """Cause the fault that is set for the point, if there is one. Raises HypervisorError, Refused or Died."""
        if (faults := self._read()) and point in faults:
            kind, times, seconds = faults.pop(point)
            if times > 1:
                faults[point] = (kind, times - 1, seconds)
            self._write(faults)
            await _happen(kind, point, seconds)

    def _read(self) -> dict[str, Fault]:
        try:
            return dict(json.loads(self._path.read_text()))
        except FileNotFoundError:
            return {}

    def _write(self, faults: dict[str, Fault]) -> None:
        durable.replace(self._path, json.dumps(faults))


async def _happen(kind: Kind, point: str, seconds: float) -> None:
    match kind:
        case "fails":
            raise HypervisorError(f"simulated failure at {point}")
        case "refuses":
            raise Refused(f"simulated refusal at {point}")
        case "dies":
            raise Died(f"the simulated machine died at {point}")
        case "kills":
            os.kill(os.getpid(), signal.SIGKILL)
        case "garbles":
            raise AttributeError(f"'NoneType' object has no attribute 'get' at {point}")
        case "slow":
            await asyncio.sleep(seconds)
        case "hangs":
            await asyncio.Event().wait()
