"""Decides which of the seen packets are worth reporting. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from agents.kernel.lan import bridge_name, tunnel_pattern
from agents.sightings.rules import Watch
from controller.wire.desired import Desired, Endpoint

Network = IPv4Network | IPv6Network


@dataclass(frozen=True)
class LanPrefixes:
    """A LAN of this cloudlet: its own prefixes, and those of the LANs that it shares a pool with."""

    endpoint: str
    own: tuple[Network, ...]
    others: tuple[Network, ...]

    def minds(self, way: str, address: str) -> bool:
        """Return whether the address is a device's to report: one of another LAN of the pool or, out of a tunnel, one
        of this LAN's own."""
        source = ip_address(address)
        networks = self.others + self.own if way == "in" else self.others
        return any(source in network for network in networks)


def lans(desired: Desired) -> dict[str, LanPrefixes]:
    """Return the LANs by the names of their bridges."""
    return {
        bridge_name(endpoint): LanPrefixes(
            endpoint.name,
            _networks([(endpoint.prefix, endpoint.prefix6)]),
            _networks((remote.prefix, remote.prefix6) for remote in endpoint.remotes),
        )
        for endpoint in desired.endpoints
    }


def watches(desired: Desired) -> list[Watch]:
    """Return the watches that the kernel is to keep."""
    return [Watch(tunnel_pattern(endpoint), _prefixes(endpoint)) for endpoint in desired.endpoints]


def _prefixes(endpoint: Endpoint) -> tuple[str, ...]:
    return tuple(prefix for prefix in (endpoint.prefix, endpoint.prefix6) if prefix is not None)


def _networks(prefixes: Iterable[tuple[str, str | None]]) -> tuple[Network, ...]:
    return tuple(ip_network(prefix, strict=False) for pair in prefixes for prefix in pair if prefix is not None)
