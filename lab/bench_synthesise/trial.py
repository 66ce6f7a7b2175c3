"""A region with a line of one rate, and a container that moves over it, and starts anew."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from lab import work
from lab.errors import LabError
from lab.paths import BUILD, ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest

Way = Literal["move", "synthesise"]

POLICY = """apiVersion: weft/v1
vcps:
  blue: {members: [c1-lan, c2-lan]}
migration: {linger_seconds: 0, rtt_ms: 1, on_verdict: ask, initiation_seconds: 5}
neighbours: {probe_seconds: 1}
"""
"""Every round trip is above `rtt_ms`, so that the times decide."""

_RATE = "rate_mbit: 60"
_WRITES = 60.0  # seconds in which the container writes its memory, and the controller hears of it
_LONGEST = 900.0


@dataclass(frozen=True)
class Served:
    """One time that the container went to the other cloudlet. `seconds` are from the request until it served there.
    `predicted` are the seconds that the controller reckoned with for the move (None: unknown), `initiation` those for a
    new container, and `course` is what it would have decided."""

    rate: int
    mib: int
    way: Way
    seconds: float
    predicted: float | None
    initiation: float
    course: str


@contextmanager
def region(rate: int) -> Iterator[tuple[Region, Rest]]:
    """Yield a region whose cloudlets have lines of that many Mbit/s."""
    folder = BUILD / "bench-synthesise"
    folder.mkdir(parents=True, exist_ok=True)
    text = (ROOT / "lab/topologies/container.yaml").read_text().replace(_RATE, f"rate_mbit: {rate}")
    path = folder / "container.yaml"
    path.write_text(text)
    (folder / "container.policy.yaml").write_text(POLICY)
    found = Region.load(path)
    with found.occupied(), Rest(timeout=60) as rest:
        for phase in (found.build, found.enrol, found.apply_policy, found.lease, found.boot):
            phase(print)
        _prepare(rest)
        yield found, rest


def _prepare(rest: Rest) -> None:
    """Give the container its check, which it can get only while it does not run."""
    rest.post("/vms/k1/stop")
    until(lambda: rest.get("/vms/k1")["condition"] == "stopped", "k1 has stopped", 60)
    rest.http.patch("/api/v1/vms/k1", json={"check": f"tcp:{work.PORT}"}).raise_for_status()
    rest.post("/vms/k1/start")
    until(lambda: rest.get("/vms/k1")["condition"] == "running", "k1 runs", 60)


def served(region: Region, rest: Rest, rate: int, mib: int, way: Way) -> Served:
    """Let the container write its memory, then go to the other cloudlet, and return what that took."""
    vm = rest.get("/vms/k1")
    there = "c2-lan" if vm["endpoint"] == "c1-lan" else "c1-lan"
    work.ask(region.namespace("m2"), vm["address"], ["memory", "start", f"mib={mib}", "rate=0.1"])
    most, least = (mib + 8) << 20, mib << 20
    until(lambda: least <= (rest.get("/vms/k1")["memory_used"] or 0) <= most, f"{mib} MiB are written", _WRITES)
    forecast = rest.get("/moves/prediction", vm="k1", endpoint=there)
    body = {"vm": "k1", "endpoint": there, "linger": 0}
    began = time.monotonic()
    name = rest.post("/moves" if way == "move" else "/moves/initiation", body)["name"]
    step = "activate" if way == "move" else "initiate"
    until(lambda: _done(rest, name, step), _why(rest, name), _LONGEST)
    seconds = time.monotonic() - began
    until(lambda: rest.get(f"/moves/{name}")["ended_at"] is not None, _why(rest, name), 120)
    if (ended := rest.get(f"/moves/{name}"))["state"] != "done":
        raise LabError(f"{name} was undone: {ended['reason']}")
    predicted, initiation = forecast["estimate"]["seconds"], forecast["initiation_seconds"]
    return Served(rate, mib, way, seconds, predicted, initiation, forecast["course"])


def _done(rest: Rest, name: str, step: str) -> bool:
    found = rest.get(f"/moves/{name}")
    steps = found["steps"]
    return found["state"] == "undone" or any(one["step"] == step and one["state"] == "done" for one in steps)


def _why(rest: Rest, name: str) -> Callable[[], Json]:
    return lambda: rest.get(f"/moves/{name}")
