"""What is to go wrong in a simulated hypervisor: kept in a file, so that a running agent can be told from outside."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Literal

from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.storage import durable

Kind = Literal["fails", "refuses", "hangs", "slow", "dies", "kills", "garbles"]
"""At a point the driver `fails` or `refuses`, never answers (`hangs`), takes `seconds` longer (`slow`), its machine
`dies`, the whole process is killed as by kill -9 (`kills`): the agent, as far as the controller can see; or the driver
raises what no driver should, as one does that takes a guest's answer for what it ought to be (`garbles`)."""

Fault = tuple[Kind, int, float]
"""What happens, how often, and the seconds of `slow`."""


class Died(HypervisorError):  # noqa: N818 - an event
    """The simulated machine has ended by itself."""


class Faults:
    """Faults by point. A point is the name of a call (`switchover`) for its beginning, with `.after` for its end, and
    `disk.half`, `memory.half`, `switchover.paused` and `switchover.handed` for what is in between."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "faults.json"

    def set(self, point: str, kind: Kind, times: int = 1, seconds: float = 0.0) -> None:
        """From now on, the next `times` times."""
        self._write({**self._read(), point: (kind, times, seconds)})

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._write({})

    async def strike(self, point: str) -> None:
        """What is to happen at that point happens. Raises HypervisorError, Refused or Died."""
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
