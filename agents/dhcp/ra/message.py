"""Router solicitations and advertisements on the wire (RFC 4861, sections 4 and 6.1; RFC 4191, RFC 8106)."""

import struct
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network

from agents.dhcp import dns_names
from agents.dhcp.ra.schedule import LIFETIME
from agents.dhcp.v6.settings import names
from controller.wire.host_settings import NO_SETTINGS, HostSettings

SOLICITATION, ADVERTISEMENT = 133, 134

_HEAD = struct.Struct("!BBHBBHII")
_PREFIX = struct.Struct("!BBBBIII16s")
_SOURCE, _PREFIX_INFORMATION, _MTU, _ROUTE, _DNS_SERVERS, _DNS_SEARCH = 1, 3, 5, 24, 25, 31
_MANAGED, _OTHER = 0x80, 0x40  # DHCPv6 gives addresses and everything else
_ON_LINK = 0x80  # without _AUTONOMOUS (0x40): no device makes up its own address
_HOPS = 64
_PREFIX_LIFETIME = 30 * 86400  # seconds; RFC 4861's default. It says what is on the link, not how long leases last.


class MessageError(ValueError):
    """Raised for a message that is no valid router solicitation. The text says why."""


@dataclass(frozen=True)
class Advertisement:
    """The contents of an advertisement. The sender, whose Ethernet address is `mac`, is a router for `lifetime`
    seconds. Then come the prefix on the link, the MTU in bytes, name servers, names to search, and prefixes to which
    the sender is the route."""

    mac: bytes
    prefix: IPv6Network
    mtu: int
    lifetime: int
    dns: tuple[IPv6Address, ...] = ()
    search: tuple[str, ...] = ()
    routes: tuple[IPv6Network, ...] = ()

    @classmethod
    def of(cls, mac: str, prefix6: str, mtu: int, hosts: HostSettings = NO_SETTINGS) -> "Advertisement":
        """Return the advertisement of a LAN's gateway, whose Ethernet address is `mac`. Raises ValueError."""
        servers = (address for address in map(ip_address, hosts.dns) if isinstance(address, IPv6Address))
        routes = (to for to in (ip_network(route.to) for route in hosts.routes) if isinstance(to, IPv6Network))
        octets = bytes.fromhex(mac.replace(":", ""))
        told = (octets, IPv6Network(prefix6), mtu, LIFETIME, tuple(servers), names(hosts), tuple(routes))
        return cls(*told)


def encode(advertisement: Advertisement) -> bytes:
    """Return the ICMPv6 message; the kernel fills in its checksum."""
    told = advertisement
    head = _HEAD.pack(ADVERTISEMENT, 0, 0, _HOPS, _MANAGED | _OTHER, told.lifetime, 0, 0)
    source = bytes((_SOURCE, 1)) + told.mac
    mtu = struct.pack("!BBHI", _MTU, 1, 0, told.mtu)
    lifetimes = _PREFIX_LIFETIME, _PREFIX_LIFETIME, 0
    base = told.prefix.network_address.packed
    prefix = _PREFIX.pack(_PREFIX_INFORMATION, 4, told.prefix.prefixlen, _ON_LINK, *lifetimes, base)
    routes = b"".join(_route(to, told.lifetime) for to in told.routes)
    return head + source + mtu + prefix + routes + _names(told)


def _route(to: IPv6Network, lifetime: int) -> bytes:
    octets = 16 if to.prefixlen > 64 else 8 if to.prefixlen else 0
    return (
        struct.pack("!BBBBI", _ROUTE, 1 + octets // 8, to.prefixlen, 0, lifetime) + to.network_address.packed[:octets]
    )


def _names(told: Advertisement) -> bytes:
    """Return the options for name servers and names to search, with the router's own lifetime (RFC 8106, section 5)."""
    found = b""
    for kind, value in (
        (_DNS_SERVERS, b"".join(address.packed for address in told.dns)),
        (_DNS_SEARCH, dns_names.encode(told.search)),
    ):
        if value:
            value += bytes(-len(value) % 8)
            found += struct.pack("!BBHI", kind, 1 + len(value) // 8, 0, told.lifetime) + value
    return found


def check(solicitation: bytes, source: IPv6Address, hops: int) -> None:
    """Raise MessageError unless it is a solicitation that must be answered (section 6.1.1)."""
    if hops != 255:
        raise MessageError(f"it came over a router: {hops} hops left")
    if len(solicitation) < 8 or solicitation[0] != SOLICITATION or solicitation[1] != 0:
        raise MessageError("no solicitation")
    at = 8
    while at < len(solicitation):
        length = 8 * solicitation[at + 1] if at + 2 <= len(solicitation) else 0
        if not length or at + length > len(solicitation):
            raise MessageError("an option runs past the end, or is empty")
        if solicitation[at] == _SOURCE and source.is_unspecified:
            raise MessageError("an Ethernet address without an address")
        at += length
