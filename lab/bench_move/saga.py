"""Weft's way to move: a whole region, its agents and its saga, from the order until nothing is left to be done."""

import time
from datetime import datetime
from ipaddress import ip_address

from lab.bench_move.figures import Moved
from lab.errors import LabError
from lab.region import Region
from lab.rest import Json, Rest

_PATIENCE = 300.0  # seconds that a move may take


class Saga:
    """A region that is up, with the VM at c1 and its device at c2. The caller must hold the region's lock."""

    def __init__(self, region: Region) -> None:
        self.region = region
        for phase in (region.build, region.enrol, region.apply_policy, region.lease, region.boot):
            phase(_silent)
        limits = ["ip", "mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8"]
        region.execute("m1", limits, check=True)
        with Rest() as rest:
            self.old = str(rest.get("/vms/v1")["address"])
        self.new: str | None = str(ip_address(region.address("m1")) + 1)  # by the addressing plan
        self._moved = False

    def __enter__(self) -> "Saga":
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: the holder of the region's lock removes the region."""

    @property
    def now(self) -> str:
        return self.new if self._moved and self.new else self.old

    def move(self) -> Moved:
        """Move the VM. Raises LabError if the VM does not have its new address in the end."""
        with Rest(timeout=60) as rest:
            name = rest.post("/moves", {"vm": "v1", "endpoint": "c2-lan", "linger": 0})["name"]
            deadline = time.monotonic() + _PATIENCE
            while (move := rest.get(f"/moves/{name}"))["ended_at"] is None:
                if time.monotonic() > deadline:
                    raise LabError(f"{name} is at {move['step']} after {_PATIENCE:.0f} s")
                time.sleep(0.5)
        if (move["state"], move["reason"], move["address"]) != ("done", "", self.new):
            raise LabError(f"{name} ended {move['state']} at {move['address']}: {move['reason']}")
        self._moved = True
        return moved(move)


def moved(move: Json) -> Moved:
    """Return the figures of a move that is done, from the answer to `GET /moves/NAME`."""
    steps = {step["step"]: step for step in move["steps"] if not step["undoing"]}
    memory, switchover = (steps[step]["figures"] for step in ("memory", "switchover"))
    return Moved(
        began=_time(move["created_at"]),
        ended=_time(move["ended_at"]),
        paused_ms=switchover["paused_ms"] or 0.0,
        memory_bytes=(memory["wire"] or 0) + (switchover["wire"] or 0),
        paths=memory["paths"] or 1,
        steps={name: float(step["seconds"] or 0) for name, step in steps.items() if step["state"] == "done"},
    )


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _silent(_: str) -> None:
    pass
