"""A whole region whose cloudlets encrypt: no VXLAN in the clear passes the emulated WAN, whatever fails."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab import daemons
from lab.paths import ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest

reason = None if daemons.CHARON.exists() and Path("/dev/net/tun").exists() else "needs strongSwan's charon"
pytestmark = [pytest.mark.lab, pytest.mark.skipif(reason is not None, reason=reason or "")]

PLAIN, ENCRYPTED = "udp port 4789", "udp port 4500"


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    found = Region.load(ROOT / "lab/topologies/ipsec.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.lease):
            phase(print)
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        yield client


@contextmanager
def wire(region: Region) -> Iterator[None]:
    """Nothing in the clear passes the WAN meanwhile, though something encrypted does."""
    nodes = [cloudlet.name for cloudlet in region.topology.cloudlets]
    plain = [region.capture(node, PLAIN) for node in nodes]
    encrypted = region.capture("c1", ENCRYPTED)
    try:
        yield
    finally:
        leaked = [frame.text for capture in plain for frame in capture.stop()]
        carried = encrypted.stop()
    assert leaked == [], leaked[:3]
    assert carried, "nothing was seen at all"


@contextmanager
def chatter(region: Region) -> Iterator[list[int]]:
    """Devices of both pools ping each other all the time. Afterwards: how many pings each has lost."""
    pairs = [("m1", "m2"), ("m2", "m1"), ("n1", "n2"), ("n2", "n1")]
    streams = [region.ping(one, region.address(other), 0.02) for one, other in pairs]
    lost: list[int] = []
    try:
        yield lost
    finally:
        lost += [stream.stop().lost for stream in streams]


def tunnels(rest: Rest) -> dict[tuple[str, str], Json]:
    return {(t["cloudlet"], t["peer"]): t for t in rest.items("/tunnels")}


def up(rest: Rest) -> set[tuple[str, str]]:
    return {ends for ends, tunnel in tunnels(rest).items() if tunnel["state"] == "up"}


BOTH = {("c1", "c2"), ("c2", "c1"), ("e1", "e2"), ("e2", "e1")}


def reach(region: Region, one: str, other: str) -> bool:
    return region.execute(one, ["ping", "-c", "1", "-W", "1", region.address(other)]).returncode == 0


def pinged(region: Region) -> bool:
    return all(reach(region, *pair) for pair in (("m1", "m2"), ("m2", "m1"), ("n1", "n2"), ("n2", "n1")))


def test_a_pool_is_encrypted_from_its_first_frame_on(region: Region, rest: Rest) -> None:
    with wire(region), chatter(region):
        region.apply_policy()
        until(lambda: pinged(region), lambda: tunnels(rest), 30)
        until(lambda: up(rest) == BOTH, lambda: tunnels(rest), 10)
        assert not reach(region, "m1", "m3")
    one = rest.get("/tunnels/c1/c2")
    assert one["needed"] and one["alarm"] is None and one["esp"].startswith("AES_GCM_16_256")


def test_an_agent_that_is_killed_and_started_again(region: Region, rest: Rest) -> None:
    since = rest.get("/tunnels/c1/c2")["since"]
    with wire(region), chatter(region):
        for name in ("c1-agent", "e1-agent"):
            region.processes[name].kill()
            time.sleep(1)
            region.processes[name].start()
        until(lambda: rest.get("/tunnels/c1/c2")["at"] > since, seconds=40)
        until(lambda: up(rest) == BOTH, lambda: tunnels(rest), 40)
    assert pinged(region)


def test_a_charon_that_is_killed_is_an_alarm_until_it_is_back(region: Region, rest: Rest) -> None:
    def told(kind: str) -> list[Json]:
        return [event for event in rest.get("/events", limit="1000")["items"] if event["type"] == kind]

    with wire(region), chatter(region):
        region.processes["c1-charon"].kill()
        until(lambda: told("tunnel-down"), lambda: tunnels(rest), 40)
        (event, *_) = told("tunnel-down")
        assert event["subject"] == "c1 c2"
        weft = [str(ROOT / "build/venv/bin/weft")]
        listed = subprocess.run([*weft, "tunnel", "list", "--alarm"], capture_output=True, text=True, check=True).stdout
        assert "DOWN" in listed or "CONNECTING" in listed, listed
        doctor = subprocess.run([*weft, "doctor"], capture_output=True, text=True, check=False)
        assert doctor.returncode == 1 and "no encrypted tunnel to c2" in doctor.stdout, doctor.stdout
        region.processes["c1-charon"].start()
        until(lambda: pinged(region), lambda: tunnels(rest), 40)
        until(lambda: told("tunnel-up"), lambda: tunnels(rest), 40)
    assert up(rest) == BOTH


def test_without_the_controller_it_goes_on(region: Region, rest: Rest) -> None:
    with wire(region), chatter(region) as lost:
        region.processes["controller"].kill()
        time.sleep(5)
        region.processes["controller"].start()
        until(rest.ready, seconds=60)
        until(lambda: rest.get("/doctor")["ok"], lambda: rest.get("/doctor"), 60)
        assert up(rest) == BOTH
    assert lost == [0, 0, 0, 0]


def test_who_leaves_has_no_tunnel(region: Region, rest: Rest) -> None:
    with wire(region):
        assert rest.delete("/vcps/blue/members/c2-lan")["in_force"]
        until(lambda: up(rest) == {("e1", "e2"), ("e2", "e1")}, lambda: tunnels(rest), 40)
        assert not reach(region, "m1", "m2")
        time.sleep(5)
