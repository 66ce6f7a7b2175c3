"""Judges what a frame reveals on the wire: VXLAN, BGP, API bytes or a machine on the move, not encrypted. Pure.

VXLAN is known by its port. BGP, the API and moves are known by their contents, on any port and anywhere in a segment.
Encrypted bytes look random, and none of these marks occurs by chance (6 bytes: once in 10^14). The middle of a
machine's memory or disk has no marks, so between hosts that encrypt no TCP at all may be seen.
"""

import ipaddress
from collections.abc import Set
from dataclasses import dataclass
from enum import StrEnum

VXLAN_PORT = 4789
_TCP, _UDP = 6, 17
_BGP = b"\xff" * 16  # the marker of every message (RFC 4271, section 4.1)
_API = (b"HTTP/1.", b"PRI * HTTP/2", b"uthorization: ", b"data: {", b'"cloudlet":', b'"token":')
# QEMU's migration and one of its channels (migration/savevm.c, migration/multifd.h), each with its version; NBD's
# greeting and its request to write (NetworkBlockDevice/nbd, doc/proto.md).
_MOVE = (
    b"QEVM\x00\x00\x00\x03",
    b"\x11\x22\x33\x44\x00\x00\x00\x01",
    b"NBDMAGIC",
    b"IHAVEOPT",
    b"\x25\x60\x95\x13\x00\x00\x00\x01",
)


class TrafficKind(StrEnum):
    VXLAN = "VXLAN"
    BGP = "BGP"
    API = "API"
    MOVE = "a move"
    TCP = "TCP"


@dataclass(frozen=True, order=True)
class Leak:
    """Unencrypted traffic from one IP address to another."""

    kind: TrafficKind
    source: str
    destination: str


def judge(frame: bytes, silent: Set[str] = frozenset()) -> Leak | None:
    """Return the leak in an Ethernet frame, or None if there is none. Between the IP addresses `silent` any TCP is a
    leak, even without data."""
    kind, packet = frame[12:14], frame[14:]
    if kind == b"\x08\x00" and len(packet) >= 20:
        ends, protocol = (packet[12:16], packet[16:20]), packet[9]
        first = int.from_bytes(packet[6:8]) & 0x1FFF == 0
        body = packet[(packet[0] & 15) * 4 :]
    elif kind == b"\x86\xdd" and len(packet) >= 40:
        ends, protocol, first, body = (packet[8:24], packet[24:40]), packet[6], True, packet[40:]
    else:
        return None
    source, destination = (str(ipaddress.ip_address(end)) for end in ends)
    found = _said(protocol, first, body)
    if found is None and protocol == _TCP and source in silent and destination in silent:
        found = TrafficKind.TCP
    return Leak(found, source, destination) if found else None


def _said(protocol: int, first: bool, body: bytes) -> TrafficKind | None:
    """Return the kind of traffic. `first` is false for later fragments, which have no ports."""
    if protocol == _UDP and first and int.from_bytes(body[2:4]) == VXLAN_PORT:
        return TrafficKind.VXLAN
    if _BGP in body:
        return TrafficKind.BGP
    if any(mark in body for mark in _MOVE):
        return TrafficKind.MOVE
    return TrafficKind.API if any(mark in body for mark in _API) else None
