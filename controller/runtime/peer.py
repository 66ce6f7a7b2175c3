"""Callers grouped by their address. Pure."""

from ipaddress import IPv6Address, ip_address, ip_network


def peer(address: str) -> str:
    """Return the peer behind an address: the address itself, or for IPv6 its /64, which one host has to itself."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:  # a unix socket has no address
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((int(found), 64), strict=False))
    return str(found)
