"""The gateways that each LAN asks, computed from the desired state. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network

from agents.dhcp.dual_stack import Version
from agents.kernel.lan import bridge_name, gateways, mac
from controller.wire.desired import Desired, Remote

_VERSIONS: tuple[Version, ...] = (4, 6)


@dataclass(frozen=True, slots=True)
class ProbingLan:
    """The source of questions: the bridge, and the gateway's own MAC and address in one family."""

    endpoint: str
    bridge: str
    mac: str
    gateway: str
    version: Version


@dataclass(frozen=True, slots=True)
class Target:
    """The gateway that a LAN asks: that of `remote`, which shares a pool with the LAN if `allowed`."""

    lan: ProbingLan
    remote: str
    address: str
    allowed: bool


def targets(desired: Desired) -> Iterator[Target]:
    """Yield for each LAN its remotes, and the remotes of the cloudlet's other LANs that it shares no pool with, in each
    family that both have. A gateway has the first address of its prefix (docs/network/addresses.md)."""
    own = {endpoint.name for endpoint in desired.endpoints}
    remotes = {r.endpoint: r for e in desired.endpoints for r in e.remotes if r.endpoint not in own}
    allowed = {endpoint.name: {remote.endpoint for remote in endpoint.remotes} for endpoint in desired.endpoints}
    for lan in probing_lans(desired):
        for name, remote in sorted(remotes.items()):
            if (far := _gateway(remote, lan.version)) is not None:
                yield Target(lan, name, far, name in allowed[lan.endpoint])


def probing_lans(desired: Desired) -> Iterator[ProbingLan]:
    """Yield the sources of questions: each LAN in each family that it has."""
    for endpoint in desired.endpoints:
        addresses = gateways(endpoint)
        for version in _VERSIONS:
            if (gateway := addresses.get(version)) is not None:
                own_mac, address = mac(desired.cloudlet, endpoint.index), str(ip_interface(gateway).ip)
                yield ProbingLan(endpoint.name, bridge_name(endpoint), own_mac, address, version)


def _gateway(remote: Remote, version: Version) -> str | None:
    prefixes = (ip_network(prefix) for prefix in (remote.prefix, remote.prefix6) if prefix is not None)
    return next((str(prefix[1]) for prefix in prefixes if prefix.version == version), None)
