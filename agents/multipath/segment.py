"""A TCP segment as it is seen on a LAN: Ethernet, VLAN tags, IPv4 or IPv6, TCP. Pure."""

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from agents.multipath.options import Option, OptionError, options

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10

_TAGS = (0x8100, 0x88A8, 0x9100)  # IEEE 802.1Q, 802.1ad, and its predecessor
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP = 6
_CHAINED = (0, 43, 60)  # hop-by-hop options, routing, destination options: all have their length in eights of octets

Address = IPv4Address | IPv6Address


class SegmentError(ValueError):
    """Raised for a frame that has no TCP segment, or only a part of its header. The text says why."""


@dataclass(frozen=True)
class End:
    """One side of a subflow."""

    address: Address
    port: int


@dataclass(frozen=True)
class Segment:
    """The header of a segment. `flags` as in the header (`SYN`, `ACK`, …); `options` are those of Multipath TCP."""

    source: End
    target: End
    sequence: int
    acknowledgment: int
    flags: int
    options: tuple[Option, ...] = ()


def segment(frame: bytes) -> Segment:
    """Read an Ethernet frame, which may end after TCP's header. Raises SegmentError."""
    try:
        return _ethernet(frame)
    except (struct.error, IndexError):
        raise SegmentError("cut short") from None
    except OptionError as error:
        raise SegmentError(str(error)) from None


def _ethernet(frame: bytes) -> Segment:
    at = 12
    while (kind := struct.unpack_from("!H", frame, at)[0]) in _TAGS:
        at += 4
    packet = frame[at + 2 :]
    if kind == _IPV4:
        return _ipv4(packet)
    if kind == _IPV6:
        return _ipv6(packet)
    raise SegmentError(f"EtherType {kind:#06x} is not IP")


def _ipv4(packet: bytes) -> Segment:
    if len(packet) < 20:
        raise SegmentError("cut short")
    head = (packet[0] & 0x0F) * 4
    fragment = struct.unpack_from("!H", packet, 6)[0] & 0x3FFF  # more fragments, or an offset
    if packet[0] >> 4 != 4 or head < 20 or packet[9] != _TCP or fragment:
        raise SegmentError("not TCP over IPv4, or a fragment of it")
    return _tcp(packet[head:], ip_address(packet[12:16]), ip_address(packet[16:20]))


def _ipv6(packet: bytes) -> Segment:
    if len(packet) < 40:
        raise SegmentError("cut short")
    if packet[0] >> 4 != 6:
        raise SegmentError("not IPv6")
    following, at = packet[6], 40
    while following in _CHAINED:
        following, at = packet[at], at + 8 * (packet[at + 1] + 1)
    if following != _TCP:
        raise SegmentError("not TCP over IPv6")
    return _tcp(packet[at:], ip_address(packet[8:24]), ip_address(packet[24:40]))


def _tcp(data: bytes, source: Address, target: Address) -> Segment:
    port, to, sequence, acknowledgment, offset, flags = struct.unpack_from("!HHIIBB", data)
    head = (offset >> 4) * 4
    if not 20 <= head <= len(data):
        raise SegmentError("TCP's header is cut short")
    found = tuple(options(data[20:head]))
    return Segment(End(source, port), End(target, to), sequence, acknowledgment, flags & 0x3F, found)
