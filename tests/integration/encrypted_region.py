"""A whole region in the lab whose cloudlets encrypt: its pings, its tunnels, and the traffic that the WAN sees."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import daemons
from lab.paths import ROOT
from lab.region import Region
from lab.rest import Json, Rest
from lab.wiretap import ENCRYPTED, Wiretap

BOTH = {("c1", "c2"), ("c2", "c1"), ("e1", "e2"), ("e2", "e1")}
"""The tunnels that the topology's policy asks for, each from both ends."""

SERVERS = {"rs1", "rs2"}
BGP = {ends for pe in ("c1", "c2", "c3", "e1", "e2") for server in SERVERS for ends in ((pe, server), (server, pe))}
"""The tunnels for BGP, each from both ends."""

PINGED = [("m1", "m2"), ("m2", "m1"), ("n1", "n2"), ("n2", "n1")]


def usable() -> str | None:
    """Return the reason why these tests cannot run here; None if they can."""
    ready = daemons.CHARON.exists() and Path("/dev/net/tun").exists()
    return None if ready else "needs strongSwan's charon and /dev/net/tun"


@contextmanager
def region() -> Iterator[Region]:
    """Yield the lab, with leases but without its policy, and so without pools. Nothing is in the clear from the
    beginning."""
    found = Region.load(ROOT / "lab/topologies/ipsec.yaml")
    with found.occupied():
        found.build(print)
        with wire(found):
            found.enrol(print)
            found.lease(print)
        yield found


@contextmanager
def wire(region: Region) -> Iterator[None]:
    """Check that no VXLAN, no BGP, nothing of the API or of a move, and no TCP between cloudlets passes the WAN in the
    clear during the block, and that something encrypted does."""
    nodes = (*(cloudlet.name for cloudlet in region.topology.cloudlets), *SERVERS, region.topology.controller)
    vteps = [cloudlet.vtep for cloudlet in region.topology.cloudlets]
    with Wiretap(region.plan, nodes, vteps) as tap, region.capture("c1", ENCRYPTED) as encrypted:
        yield
        told, carried = tap.stop(), encrypted.stop()
    assert not told, told
    assert carried, "nothing was seen at all"


@contextmanager
def chatter(region: Region) -> Iterator[list[int]]:
    """Let devices of both pools ping each other during the block. The yielded list then has the number of pings that
    each has lost."""
    streams = [region.ping(one, region.address(other), 0.02) for one, other in PINGED]
    lost: list[int] = []
    try:
        yield lost
    finally:
        lost += [stream.stop().lost for stream in streams]


def tunnels(rest: Rest) -> dict[tuple[str, str], Json]:
    """Return the tunnels by both ends."""
    return {(t["cloudlet"], t["peer"]): t for t in rest.items("/tunnels")}


def up(rest: Rest) -> set[tuple[str, str]]:
    """Return the tunnels that are up between two cloudlets."""
    return {ends for ends in _up(rest) if not SERVERS & {*ends}}


def bgp(rest: Rest) -> set[tuple[str, str]]:
    """Return the tunnels that are up between a cloudlet and a route server."""
    return {ends for ends in _up(rest) if SERVERS & {*ends}}


def _up(rest: Rest) -> Iterator[tuple[str, str]]:
    return (ends for ends, tunnel in tunnels(rest).items() if tunnel["state"] == "up")


def reach(region: Region, one: str, other: str) -> bool:
    return region.execute(one, ["ping", "-c", "1", "-W", "1", region.address(other)]).returncode == 0


def pinged(region: Region) -> bool:
    return all(reach(region, *pair) for pair in PINGED)
