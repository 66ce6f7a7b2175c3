"""What a frame tells whoever reads it on the wire: VXLAN, BGP or API bytes in the clear. Pure.

VXLAN is known by its port, BGP and the API by what they say, on whatever port and wherever in a segment it begins.
What is encrypted looks like chance, and none of these marks comes about by chance (6 bytes: once in 10^14).
"""

import ipaddress
from dataclasses import dataclass
from enum import StrEnum

VXLAN_PORT = 4789
_TCP, _UDP = 6, 17
_BGP = b"\xff" * 16  # the marker of every message (RFC 4271, section 4.1)
_API = (b"HTTP/1.", b"PRI * HTTP/2", b"uthorization: ", b"data: {", b'"cloudlet":', b'"token":')


class Kind(StrEnum):
    VXLAN = "VXLAN"
    BGP = "BGP"
    API = "API"


@dataclass(frozen=True, order=True)
class Leak:
    """Something in the clear, from one IP address to another."""

    kind: Kind
    source: str
    destination: str


def judge(frame: bytes) -> Leak | None:
    """What an Ethernet frame tells; None if it is nothing of these."""
    kind, packet = frame[12:14], frame[14:]
    if kind == b"\x08\x00" and len(packet) >= 20:
        ends, protocol = (packet[12:16], packet[16:20]), packet[9]
        first = int.from_bytes(packet[6:8]) & 0x1FFF == 0
        body = packet[(packet[0] & 15) * 4 :]
    elif kind == b"\x86\xdd" and len(packet) >= 40:
        ends, protocol, first, body = (packet[8:24], packet[24:40]), packet[6], True, packet[40:]
    else:
        return None
    found = _said(protocol, first, body)
    return Leak(found, *(str(ipaddress.ip_address(end)) for end in ends)) if found else None


def _said(protocol: int, first: bool, body: bytes) -> Kind | None:
    """`first` is false for later fragments, which have no ports."""
    if protocol == _UDP and first and int.from_bytes(body[2:4]) == VXLAN_PORT:
        return Kind.VXLAN
    if _BGP in body:
        return Kind.BGP
    return Kind.API if any(mark in body for mark in _API) else None
