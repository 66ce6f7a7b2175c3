"""A region whose container follows its device: runc, CRIU, weft-transfer, the saga, agents and route servers are all
real."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import work
from lab.containers.build import build
from lab.errors import LabError
from lab.paths import GUESTS, ROOT
from lab.region import Region
from lab.rest import Json, Rest
from lab.walk import walk

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    build(GUESTS)
    found = Region.load(ROOT / "lab/topologies/container.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease, found.boot):
            phase(print)
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        yield client


def latest(rest: Rest) -> Json | None:
    """Return the latest move of the container, with its steps."""
    moves = rest.items("/moves", vm="k1")
    return dict(rest.get(f"/moves/{moves[0]['name']}")) if moves else None


def wait(rest: Rest, step: str | None, seconds: float = 180) -> Json:
    """Wait until the latest move has done that step, or has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = latest(rest)
        if found is not None and step is None and found["ended_at"] is not None:
            return found
        if found is not None and any(one["step"] == step and one["state"] == "done" for one in found["steps"]):
            return found
        time.sleep(0.2)
    raise AssertionError(f"no {step or 'end'} within {seconds:g} s: {latest(rest)}")


def test_a_container_follows_its_device_and_keeps_its_connections(region: Region, rest: Rest, tmp_path: Path) -> None:
    before = rest.get("/vms/k1")
    assert before["driver"] == "container" and before["address"] in ("10.1.0.3", "10.1.0.5")  # m1 or m2 came first
    other = region.namespace("m2")
    work.ask(other, before["address"], ["memory", "start", "mib=16", "rate=1"])
    stream = work.Stream(other, before["address"], tmp_path / "stream.csv", down=300_000, up=100_000)
    try:
        time.sleep(1)
        walk(region, "m1", "c2")
        wait(rest, "activate")
        time.sleep(3)
        verdict = stream.verdict()
    finally:
        stream.kill()
    assert verdict.intact and not verdict.mptcp, verdict
    move = wait(rest, None)
    assert move["state"] == "done" and not move["reason"] and move["destination"] == "c2", move
    after = rest.get("/vms/k1")
    assert (after["endpoint"], after["condition"]) == ("c2-lan", "running")
    assert after["address"].startswith("10.2.0.") and after["serving"] != before["serving"]
    found = work.ask(other, after["address"], ["memory", "verdict"])
    assert found["wrong"] == 0 and found["written"] > 0
    assert move["figures"]["switchover"]["paused_ms"] < 1500
    assert move["figures"]["memory"]["pages"]["same"] > 0


def test_it_comes_back_on_request_and_keeps_its_address_if_that_is_wanted(region: Region, rest: Rest) -> None:
    before = rest.get("/vms/k1")["address"]
    rest.post("/moves", {"vm": "k1", "endpoint": "c1-lan", "keep": True, "linger": 0})
    move = wait(rest, None)
    assert move["state"] == "done" and not move["reason"], move
    after = rest.get("/vms/k1")
    assert (after["endpoint"], after["address"], after["condition"]) == ("c1-lan", before, "running")
    found = work.ask(region.namespace("m2"), before, ["memory", "verdict"])
    assert found["wrong"] == 0


def becomes(rest: Rest, condition: str) -> Json:
    """Wait until the container is in that condition, and return it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = dict(rest.get("/vms/k1"))
        if found["condition"] == condition:
            return found
        time.sleep(0.2)
    raise AssertionError(f"k1 does not become {condition}: {rest.get('/vms/k1')}")


def test_it_starts_anew_elsewhere_and_its_old_machine_goes(region: Region, rest: Rest) -> None:
    rest.post("/moves", {"vm": "k1", "endpoint": "c2-lan", "linger": 0})
    assert wait(rest, None)["state"] == "done"
    rest.post("/vms/k1/stop")
    becomes(rest, "stopped")
    rest.http.patch("/api/v1/vms/k1", json={"check": f"tcp:{work.PORT}"}).raise_for_status()
    rest.post("/vms/k1/start")
    before = becomes(rest, "running")
    other = region.namespace("m2")
    work.ask(other, before["address"], ["memory", "start", "mib=16", "rate=1"])
    rest.post("/moves/initiation", {"vm": "k1", "endpoint": "c1-lan", "linger": 5})
    move = wait(rest, None)
    assert move["state"] == "done" and not move["reason"] and move["figures"]["initiate"]["seconds"] < 60, move
    after = becomes(rest, "running")
    assert after["endpoint"] == "c1-lan" and after["address"] in ("10.1.0.3", "10.1.0.5")
    assert after["serving"] != before["serving"]
    work.ask(other, after["address"], ["memory", "start", "mib=16", "rate=1"])
    with pytest.raises(LabError):
        work.ask(other, before["address"], ["memory", "verdict"])
