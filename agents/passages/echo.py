"""ICMP echoes (RFC 792, RFC 4443) between gateways, as Ethernet frames. Pure.

They may not be fragmented, and no router passes them on: a gateway that answers is on the LAN, or behind a tunnel."""

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from agents.bpf import BYTE, HALF, Step, matching
from agents.dhcp.dual_stack import Version
from agents.neighbours.icmp import checksum

ETHER: dict[Version, int] = {4: 0x0800, 6: 0x86DD}

ANSWERS: dict[Version, list[Step]] = {
    4: matching((HALF, 12, ETHER[4]), (BYTE, 14, 0x45), (BYTE, 23, 1), (BYTE, 34, 0)),
    6: matching((HALF, 12, ETHER[6]), (BYTE, 20, 58), (BYTE, 54, 129)),
}
"""The filters of packet sockets for echo replies without options."""

_ETHERNET = struct.Struct("!6s6sH")
_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_IPV6 = struct.Struct("!IHBB16s16s")
_ICMP = struct.Struct("!BBHHH")
_DONT_FRAGMENT = 0x4000
_ONE_LINK = 1
_REQUEST: dict[Version, int] = {4: 8, 6: 128}


@dataclass(frozen=True)
class Echo:
    """One echo: from a gateway's MAC and address to another's. `identifier` and `number` tell its answer; `size` is
    that of the IP packet, in bytes."""

    mac: str
    address: str
    to_mac: str
    target: str
    identifier: int
    number: int
    size: int


def request(echo: Echo, version: Version) -> bytes:
    """Return the frame that asks. A packet is never shorter than its headers."""
    ether = _ETHERNET.pack(_octets(echo.to_mac), _octets(echo.mac), ETHER[version])
    if version == 4:
        payload = max(0, echo.size - _IPV4.size - _ICMP.size)
        message = _message(version, echo, payload, b"")
        return ether + _ipv4(echo, _IPV4.size + len(message)) + message
    source, target = IPv6Address(echo.address).packed, IPv6Address(echo.target).packed
    payload = max(0, echo.size - _IPV6.size - _ICMP.size)
    pseudo = source + target + struct.pack("!II", _ICMP.size + payload, 58)
    message = _message(version, echo, payload, pseudo)
    return ether + _IPV6.pack(6 << 28, len(message), 58, _ONE_LINK, source, target) + message


def answer(frame: bytes, version: Version, mac: str, identifier: int) -> tuple[str, int] | None:
    """Return the address that answers and the echo's number, or None if the frame is no answer to this MAC and
    identifier."""
    header = _IPV4 if version == 4 else _IPV6
    at = _ETHERNET.size + header.size
    if len(frame) < at + _ICMP.size:
        return None
    to, _, kind = _ETHERNET.unpack_from(frame)
    reply, code, _, known, number = _ICMP.unpack_from(frame, at)
    if (to, kind, reply, code, known) != (_octets(mac), ETHER[version], 0 if version == 4 else 129, 0, identifier):
        return None
    if version == 4:
        return str(IPv4Address(frame[at - 8 : at - 4])), number
    return str(IPv6Address(frame[at - 32 : at - 16])), number


def _message(version: Version, echo: Echo, payload: int, pseudo: bytes) -> bytes:
    rest = bytes(payload)
    bare = _ICMP.pack(_REQUEST[version], 0, 0, echo.identifier, echo.number) + rest
    return _ICMP.pack(_REQUEST[version], 0, checksum(pseudo + bare), echo.identifier, echo.number) + rest


def _ipv4(echo: Echo, length: int) -> bytes:
    source, target = IPv4Address(echo.address).packed, IPv4Address(echo.target).packed
    fields = (0x45, 0, length, echo.number, _DONT_FRAGMENT, _ONE_LINK, 1)
    return _IPV4.pack(*fields, checksum(_IPV4.pack(*fields, 0, source, target)), source, target)


def _octets(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))
