"""The IPv6 address that belongs to an IPv4 address: a pair has the same number in both plans (docs/network/ipv6.md).
Pure."""

from ipaddress import IPv4Address, ip_network

from agents.multipath.segment import Address
from controller.wire.desired import Desired, Endpoint, Remote


def address6(desired: Desired | None, address: Address) -> Address | None:
    """Return that address. None if its LAN has no IPv6, or is neither this cloudlet's nor shares a pool with it."""
    if desired is None or not isinstance(address, IPv4Address):
        return None
    for endpoint in desired.endpoints:
        lans: tuple[Endpoint | Remote, ...] = (endpoint, *endpoint.remotes)
        for lan in lans:
            network = ip_network(lan.prefix, strict=False)
            if lan.prefix6 is not None and address in network:
                return ip_network(lan.prefix6, strict=False)[int(address) - int(network.network_address)]
    return None
