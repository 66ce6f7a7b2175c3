"""The settings of a LAN's hosts as DHCP options (RFC 2132, RFC 3397, RFC 3442). Pure."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network

from agents.dhcp import dns_names
from agents.dhcp.v4.message import Option
from controller.wire.host_settings import NO_SETTINGS, HostSettings, Route


@dataclass(frozen=True)
class LanSettings:
    """The settings that every client gets: the gateway (also the server identifier), the prefix, the MTU in bytes, and
    the policy's settings for hosts (`hosts`)."""

    gateway: IPv4Address
    prefix: IPv4Network
    mtu: int
    hosts: HostSettings = NO_SETTINGS

    @classmethod
    def of(cls, gateway: str, prefix: str, mtu: int, hosts: HostSettings = NO_SETTINGS) -> "LanSettings":
        """Return the settings of an endpoint's LAN. Raises ValueError."""
        return cls(IPv4Address(gateway), IPv4Network(prefix), mtu, hosts)


def options(lan: LanSettings) -> dict[int, bytes]:
    """Return the options that are the same for every client."""
    hosts = lan.hosts
    found: dict[int, bytes] = {
        Option.SUBNET_MASK: lan.prefix.netmask.packed,
        Option.ROUTER: lan.gateway.packed,
        Option.BROADCAST_ADDRESS: lan.prefix.broadcast_address.packed,
        Option.INTERFACE_MTU: struct.pack("!H", lan.mtu),
        Option.DNS_SERVERS: _servers(hosts.dns),
        Option.DOMAIN_NAME: (hosts.domain or "").encode("ascii"),
        Option.NTP_SERVERS: _servers(hosts.ntp),
        Option.DOMAIN_SEARCH: dns_names.encode(hosts.search),
        Option.CLASSLESS_ROUTES: _routes(hosts.routes, lan.gateway),
    }
    return {code: value for code, value in found.items() if value}


def _servers(servers: Iterable[str]) -> bytes:
    return b"".join(address.packed for address in map(ip_address, servers) if address.version == 4)


def _routes(routes: Iterable[Route], gateway: IPv4Address) -> bytes:
    """Return the value of CLASSLESS_ROUTES. Clients that use it ignore the ROUTER option, so it has the default route
    too (RFC 3442)."""
    own = [route for route in routes if ip_network(route.to).version == 4]
    every = [*own, Route(to="0.0.0.0/0")] if own and not any(route.to == "0.0.0.0/0" for route in own) else own
    return b"".join(_route(IPv4Network(route.to), IPv4Address(route.via or gateway)) for route in every)


def _route(to: IPv4Network, via: IPv4Address) -> bytes:
    return bytes((to.prefixlen,)) + to.network_address.packed[: -(-to.prefixlen // 8)] + via.packed
