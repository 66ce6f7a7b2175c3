"""Who is asked, from the desired state. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from agents.lan import bridge_name, mac
from controller.wire.desired import Desired


@dataclass(frozen=True, slots=True)
class Lan:
    """Where questions come from: the bridge, and the gateway's own MAC and IPv4 address."""

    endpoint: str
    bridge: str
    mac: str
    gateway: str


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a LAN asks: the gateway of `remote`, which shares a pool with it if `allowed`."""

    lan: Lan
    remote: str
    address: str
    allowed: bool


def targets(desired: Desired) -> Iterator[Target]:
    """For each LAN its remotes, and those of the cloudlet's other LANs that it shares no pool with. A gateway has the
    first address of its prefix (docs/addresses.md). LANs without IPv4 are not asked about."""
    own = {endpoint.name for endpoint in desired.endpoints}
    known = {r.endpoint: r.prefix for e in desired.endpoints for r in e.remotes if ip_network(r.prefix).version == 4}
    for endpoint in desired.endpoints:
        if ip_address(endpoint.gateway).version != 4:
            continue
        lan = Lan(endpoint.name, bridge_name(endpoint), mac(desired.cloudlet, endpoint.index), endpoint.gateway)
        allowed = {remote.endpoint for remote in endpoint.remotes}
        for name, prefix in sorted(known.items()):
            if name not in own:
                yield Target(lan, name, str(ip_network(prefix)[1]), name in allowed)
