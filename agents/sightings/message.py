"""Decodes the kernel's messages about logged packets (linux/netfilter/nfnetlink_log.h). Pure."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

_NLMSG, _NFGEN, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("!BBH"), struct.Struct("=HH")
_PACKET = (4 << 8) | 0  # NFNL_SUBSYS_ULOG, NFULNL_MSG_PACKET
_PACKET_HDR, _INDEV, _PHYSINDEV, _PAYLOAD, _PREFIX, _HEADER = 1, 4, 6, 9, 10, 16  # NFULA_...
_ETHERTYPES = {0x0800: 4, 0x86DD: 6}


@dataclass(frozen=True)
class Seen:
    """A packet from `address` and `mac` on the bridge and the port with these interface indexes. `way` is the rule's
    prefix, `in` or `at`."""

    way: str
    bridge: int
    port: int
    address: str
    mac: str


def decode(datagram: bytes) -> Iterator[Seen]:
    """Yield the packets that a netlink datagram reports. Anything else, or cut off, is skipped: this never raises."""
    at = 0
    while at + _NLMSG.size <= len(datagram):
        length, kind, _, _, _ = _NLMSG.unpack_from(datagram, at)
        if not _NLMSG.size <= length <= len(datagram) - at:
            return
        if kind == _PACKET and (seen := _seen(_attributes(datagram[at + _NLMSG.size + _NFGEN.size : at + length]))):
            yield seen
        at += _aligned(length)


def _seen(attributes: dict[int, bytes]) -> Seen | None:
    header, link = attributes.get(_PACKET_HDR, b""), attributes.get(_HEADER, b"")
    bridge, port = _number(attributes.get(_INDEV)), _number(attributes.get(_PHYSINDEV))
    if len(header) < 2 or len(link) < 14 or bridge is None or port is None:
        return None
    address = _source(_ETHERTYPES.get(int.from_bytes(header[:2])), attributes.get(_PAYLOAD, b""))
    way = attributes.get(_PREFIX, b"").rstrip(b"\0").decode("ascii", "replace")
    return Seen(way, bridge, port, address, link[6:12].hex(":")) if address else None


def _source(version: int | None, packet: bytes) -> str | None:
    """Return the source address of an IP packet, or None."""
    if version == 4 and len(packet) >= 16:
        return str(IPv4Address(packet[12:16]))
    if version == 6 and len(packet) >= 24:
        return str(IPv6Address(packet[8:24]))
    return None


def _attributes(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if not _ATTRIBUTE.size <= length <= len(data) - at:
            break
        found[kind & 0x3FFF] = data[at + _ATTRIBUTE.size : at + length]
        at += _aligned(length)
    return found


def _number(value: bytes | None) -> int | None:
    return int.from_bytes(value) if value is not None and len(value) == 4 else None


def _aligned(length: int) -> int:
    return (length + 3) & ~3
