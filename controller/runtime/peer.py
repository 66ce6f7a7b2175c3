"""Callers by where they come from. Pure."""

from ipaddress import IPv6Address, ip_address, ip_network


def peer(address: str) -> str:
    """Who is behind an address: itself, or for IPv6 its /64, which is what one host has."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:  # a unix socket has none
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((int(found), 64), strict=False))
    return str(found)
