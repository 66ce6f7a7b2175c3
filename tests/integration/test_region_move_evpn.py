"""A VM that moves in an EVPN pool: its PEs announce it, route servers permit that and nothing else, and the doctor
finds nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import work
from lab.guests.build import build
from lab.paths import GUESTS, ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Rest
from tests.integration.test_region_move import DOWN, UP, WRITTEN, memory, memory_right, moved

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    build(GUESTS)
    found = Region.load(ROOT / "lab/topologies/move-evpn.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease, found.boot):
            phase(print)
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        yield client


def announcers(rest: Rest, address: str) -> set[str]:
    """Return the PEs whose routes with an address were accepted."""
    routes = rest.get("/routes", table="adj-in", limit="1000")["items"]
    return {route["peer"] for route in routes if f"[ip:{address}]" in route["nlri"]}


def content(rest: Rest) -> None:
    """Wait until the doctor finds nothing."""

    def differences() -> list[str]:
        return [f"{difference['where']}: {difference['text']}" for difference in rest.get("/doctor")["differences"]]

    until(lambda: not differences(), lambda: f"no differences: {differences()}", 60)


def test_the_doctor_is_content_with_a_vm_that_moves(region: Region, rest: Rest, tmp_path: Path) -> None:
    """A connection without MPTCP survives moves in both directions on an address that is kept."""
    content(rest)
    old = rest.get("/vms/v1")["address"]
    memory(region, rest, *WRITTEN)
    region.execute("m1", ["sysctl", "-qw", "net.mptcp.enabled=0"], check=True)
    stream = work.Stream(region.namespace("m1"), old, tmp_path / "stream", down=DOWN, up=UP)
    try:
        for cloudlet in ("c2", "c1"):
            move = moved(rest, f"{cloudlet}-lan", keep=True)
            assert (move["state"], move["reason"]) == ("done", ""), move
            assert rest.get("/vms/v1")["address"] == old
            memory_right(region, rest)
            until(lambda: announcers(rest, old), f"{old} announced", 30)
            assert announcers(rest, old) == {cloudlet}
            content(rest)
    finally:
        verdict = stream.verdict()
        region.execute("m1", ["sysctl", "-qw", "net.mptcp.enabled=1"], check=True)
    assert verdict.intact and verdict.device.gap < 30, verdict
    told = [e["text"] for e in rest.items("/events", limit="1000") if e["type"] == "quarantined"]
    assert not told, told


def test_nobody_announces_an_address_that_was_given_back(region: Region, rest: Rest) -> None:
    """The gateway of the new LAN also knows the VM by the old address when that address is given back."""
    old = rest.get("/vms/v1")["address"]
    region.execute("m1", ["ping", "-c1", "-W5", old], check=True)
    move = moved(rest, "c2-lan")
    assert move["state"] == "done", move
    new = rest.get("/vms/v1")["address"]
    assert new != old
    until(lambda: announcers(rest, new) == {"c2"}, lambda: f"{new} announced by c2: {announcers(rest, new)}", 30)
    until(lambda: not announcers(rest, old), lambda: f"{old} is announced: {announcers(rest, old)}", 30)
    content(rest)
