"""Frames that make a gateway remember neighbours: the nth frame of each kind is about the nth address."""

import struct
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from lab.siege.frames import advertisement
from tests.integration.fence_frames import EVERYBODY, checksum

GATEWAY_MAC, GATEWAY, GATEWAY6 = "02:57:00:00:00:01", "10.1.0.1", "2001:db8:1::1"
PORT = 22
SENDER = bytes.fromhex("02bd00000001")
_AT_GATEWAY = bytes.fromhex(GATEWAY_MAC.replace(":", ""))
_FIRST, _FIRST6 = int(IPv4Address("10.1.1.0")), int(IPv6Address("2001:db8:1::1:0"))


def address(n: int) -> str:
    return str(IPv4Address(_FIRST + n))


def address6(n: int) -> str:
    return str(IPv6Address(_FIRST6 + n))


def arp(sender: str, target: str) -> bytes:
    head = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + SENDER + IPv4Address(sender).packed
    return EVERYBODY + SENDER + b"\x08\x06" + head + bytes(6) + IPv4Address(target).packed


def ip4(source: str, target: str, protocol: int, payload: bytes) -> bytes:
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0)
    addresses = IPv4Address(source).packed + IPv4Address(target).packed
    head = head[:10] + struct.pack("!H", checksum(head + addresses))
    return _AT_GATEWAY + SENDER + b"\x08\x00" + head + addresses + payload


def syn(pseudo_header: bytes) -> bytes:
    """Return a TCP segment that asks for a connection to PORT."""
    segment = struct.pack("!HHIIBBHHH", 4000, PORT, 1, 0, 5 << 4, 2, 1024, 0, 0)
    return segment[:16] + struct.pack("!H", checksum(pseudo_header + segment)) + segment[18:]


def syn4(source: str) -> bytes:
    addresses = IPv4Address(source).packed + IPv4Address(GATEWAY).packed
    return ip4(source, GATEWAY, 6, syn(addresses + struct.pack("!HH", 6, 20)))


def ip6(source: str, target: str, protocol: int, payload: bytes, to: bytes = _AT_GATEWAY) -> bytes:
    head = struct.pack("!IHBB", 0x60000000, len(payload), protocol, 255)
    return to + SENDER + b"\x86\xdd" + head + IPv6Address(source).packed + IPv6Address(target).packed + payload


def syn6(source: str) -> bytes:
    addresses = IPv6Address(source).packed + IPv6Address(GATEWAY6).packed
    return ip6(source, GATEWAY6, 6, syn(addresses + struct.pack("!II", 20, 6)))


def icmp6(source: str, target: str, message: bytes, to: bytes = _AT_GATEWAY) -> bytes:
    addresses = IPv6Address(source).packed + IPv6Address(target).packed
    total = checksum(addresses + struct.pack("!II", len(message), 58) + message)
    return ip6(source, target, 58, message[:2] + struct.pack("!H", total) + message[4:], to)


def solicitation(source: str) -> bytes:
    message = struct.pack("!BBHI", 135, 0, 0, 0) + IPv6Address(GATEWAY6).packed + b"\x01\x01" + SENDER
    return icmp6(source, GATEWAY6, message)


ATTACKS: dict[str, Callable[[int], bytes]] = {
    "asks in other names": lambda n: arp(address(n), GATEWAY),
    "announces addresses": lambda n: arp(address(n), address(n)),
    "opens connections from addresses": lambda n: syn4(address(n)),
    "sends to addresses": lambda n: ip4("10.1.0.66", address(n), 17, struct.pack("!HHHH", 9, 9, 8, 0)),
    "solicits from IPv6 addresses": lambda n: solicitation(address6(n)),
    "advertises IPv6 addresses": lambda n: advertisement(SENDER, SENDER, IPv6Address(address6(n))),
    "opens connections from IPv6 addresses": lambda n: syn6(address6(n)),
    "sends to IPv6 addresses": lambda n: ip6("2001:db8:1::66", address6(n), 59, b""),
}
