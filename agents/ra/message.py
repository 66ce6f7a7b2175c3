"""Router solicitations and advertisements on the wire (RFC 4861, sections 4 and 6.1)."""

import struct
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network

SOLICITATION, ADVERTISEMENT = 133, 134

_HEAD = struct.Struct("!BBHBBHII")
_PREFIX = struct.Struct("!BBBBIII16s")
_SOURCE, _PREFIX_INFORMATION, _MTU = 1, 3, 5
_MANAGED, _OTHER = 0x80, 0x40  # addresses by DHCPv6, and so is everything else
_ON_LINK = 0x80  # and not _AUTONOMOUS (0x40): nobody makes an address up
_HOPS = 64
_PREFIX_LIFETIME = 30 * 86400  # seconds; RFC 4861's default. It says what is on the link, not how long leases last.


class MessageError(ValueError):
    """No valid router solicitation. The text says why."""


@dataclass(frozen=True)
class Advertisement:
    """What a LAN's devices are told: that the sender, whose Ethernet address is `mac`, is a router for `lifetime`
    seconds, the prefix that is on the link, and the MTU in bytes."""

    mac: bytes
    prefix: IPv6Network
    mtu: int
    lifetime: int


def encode(advertisement: Advertisement) -> bytes:
    """The ICMPv6 message; the kernel fills its checksum in."""
    told = advertisement
    head = _HEAD.pack(ADVERTISEMENT, 0, 0, _HOPS, _MANAGED | _OTHER, told.lifetime, 0, 0)
    source = bytes((_SOURCE, 1)) + told.mac
    mtu = struct.pack("!BBHI", _MTU, 1, 0, told.mtu)
    lifetimes = _PREFIX_LIFETIME, _PREFIX_LIFETIME, 0
    base = told.prefix.network_address.packed
    return head + source + mtu + _PREFIX.pack(_PREFIX_INFORMATION, 4, told.prefix.prefixlen, _ON_LINK, *lifetimes, base)


def check(solicitation: bytes, source: IPv6Address, hops: int) -> None:
    """Whether it is a solicitation that must be answered (section 6.1.1). Raises MessageError."""
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
