"""Frames of a hostile device: DHCP and DHCPv6 clients that do not exist, others' addresses, and frames that are no
packets. Pure."""

import os
import random
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from itertools import count

BROADCAST = b"\xff" * 6
COOKIE = bytes.fromhex("63825363")
DISCOVER, REQUEST, DECLINE, RELEASE, INFORM = 1, 3, 4, 7, 8
SOLICIT, REQUEST6, DECLINE6, CONFIRM = 1, 3, 9, 4
SERVERS6 = IPv6Address("ff02::1:2")

Frame = tuple[str, bytes]
"""A frame's name, and its octets."""


def ethernet(source: bytes, kind: int, payload: bytes, to: bytes = BROADCAST) -> bytes:
    """Return an Ethernet II frame."""
    return to + source + struct.pack("!H", kind) + payload


def dhcp(
    mac: bytes, kind: int, client: bytes, asked: IPv4Address | None = None, server: IPv4Address | None = None
) -> bytes:
    """Return a client's message (RFC 2131), from 0.0.0.0 to everybody."""
    options = bytes((53, 1, kind)) + (bytes((61, len(client))) + client if client else b"")
    options += bytes((50, 4)) + asked.packed if asked else b""
    options += bytes((54, 4)) + server.packed if server else b""
    head = struct.pack("!BBBBIHH", 1, 1, 6, 0, random.getrandbits(32), 0, 0x8000) + bytes(16) + mac + bytes(10)
    return _udp4(mac, 68, 67, head + bytes(192) + COOKIE + options + b"\xff")


def dhcp6(mac: bytes, kind: int, client: bytes, about: IPv6Address | None = None) -> bytes:
    """Return a client's message (RFC 8415) with an identity association, and one for prefixes, with rapid commit."""
    address = _option(5, about.packed + struct.pack("!II", 600, 600)) if about else b""
    association = _option(3, os.urandom(4) + bytes(8) + address)
    options = _option(1, client) + association + _option(25, os.urandom(4) + bytes(8)) + _option(14, b"")
    return _udp6(mac, 546, 547, bytes((kind,)) + os.urandom(3) + options)


def arp(source: bytes, mac: bytes, address: IPv4Address, operation: int = 2) -> bytes:
    """Return a claim to have an address (RFC 826), to everybody."""
    claim = struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation) + mac + address.packed
    return ethernet(source, 0x0806, claim + BROADCAST + address.packed)


def advertisement(source: bytes, mac: bytes, address: IPv6Address) -> bytes:
    """Return an unsolicited neighbour advertisement (RFC 4861) that overrides what others know."""
    body = struct.pack("!I", 0x20000000) + address.packed + bytes((2, 1)) + mac
    to, sender = IPv6Address("ff02::1").packed, address.packed
    total = _checksum(sender + to + struct.pack("!II", 4 + len(body), 58) + bytes((136, 0, 0, 0)) + body)
    icmp = bytes((136, 0)) + struct.pack("!H", total) + body
    packet = struct.pack("!IHBB", 0x60000000, len(icmp), 58, 255) + sender + to + icmp
    return ethernet(source, 0x86DD, packet, bytes.fromhex("333300000001"))


def clients(lan: IPv4Address, lan6: IPv6Address, server: IPv4Address) -> Iterator[Frame]:
    """Yield messages of clients with random identifiers, of every kind, without end."""
    for number in count():
        mac, client = b"\x02" + os.urandom(5), os.urandom(random.randint(2, 60))
        asked, asked6 = lan + random.randrange(2, 1000), lan6 + random.randrange(2, 1000)
        yield "DISCOVER", dhcp(mac, DISCOVER, client)
        yield "SOLICIT", dhcp6(mac, SOLICIT, client)
        match number % 4:
            case 0:
                yield "DECLINE", dhcp(mac, DECLINE, client, asked, server)
                yield "DHCPv6 DECLINE", dhcp6(mac, DECLINE6, client, asked6)
            case 1:
                yield "REQUEST of any address", dhcp(mac, REQUEST, client, asked, server)
            case 2:
                yield "RELEASE", dhcp(mac, RELEASE, client, asked, server)
                yield "INFORM", dhcp(mac, INFORM, client)
            case _:
                yield "malformed DHCP", _udp4(mac, 68, 67, os.urandom(random.randrange(400)))
                yield "malformed DHCPv6", _udp6(mac, 546, 547, os.urandom(random.randrange(400)))


def lies(mac: bytes, addresses: list[IPv4Address], addresses6: list[IPv6Address]) -> Iterator[Frame]:
    """Yield claims to have the addresses of others, without end."""
    while True:
        for address in addresses:
            yield "ARP for another's address", arp(mac, mac, address)
            yield "ARP probe of another's address", arp(mac, mac, address, 1)
        for address6 in addresses6:
            yield "ND for another's address", advertisement(mac, mac, address6)


def nobody(mac: bytes) -> Iterator[Frame]:
    """Yield claims to have addresses that nobody has (RFC 2544, RFC 5180: for such tests), each time another, without
    end."""
    for number in count():
        address, address6 = IPv4Address("198.18.0.0") + number % 2**17, IPv6Address("2001:2::") + number
        yield "ARP for nobody's address", arp(mac, mac, address)
        yield "ND for nobody's address", advertisement(mac, mac, address6)


def rubbish(mac: bytes, address: IPv4Address) -> Iterator[Frame]:
    """Yield frames that are no packets, or hide one, without end."""
    hidden = arp(mac, mac, address)[12:]
    while True:
        yield "SNAP", mac_frame(mac, b"\xaa\xaa\x03\x00\x00\x00" + hidden)
        yield "LLDP", ethernet(mac, 0x88CC, os.urandom(random.randint(1, 1400)), bytes.fromhex("0180c200000e"))
        yield "STP", mac_frame(mac, b"\x42\x42\x03" + os.urandom(35), bytes.fromhex("0180c2000000"))
        yield "tags in tags", ethernet(mac, 0x88A8, b"\x00\x01\x81\x00\x00\x02" + hidden)
        yield (
            "a frame of any type",
            ethernet(mac, random.randrange(0x600, 0x10000), os.urandom(random.randint(0, 1400))),
        )
        yield "a frame from everybody", ethernet(BROADCAST, 0x0800, os.urandom(60))


def mac_frame(source: bytes, payload: bytes, to: bytes = BROADCAST) -> bytes:
    """Return a frame of IEEE 802.3: its length stands where Ethernet II has a type."""
    return to + source + struct.pack("!H", len(payload)) + payload


def _udp4(mac: bytes, source: int, target: int, payload: bytes) -> bytes:
    udp = struct.pack("!HHHH", source, target, 8 + len(payload), 0) + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + bytes(4) + b"\xff" * 4
    return ethernet(mac, 0x0800, head[:10] + struct.pack("!H", _checksum(head)) + head[12:] + udp)


def _udp6(mac: bytes, source: int, target: int, payload: bytes) -> bytes:
    sender = IPv6Address(b"\xfe\x80" + bytes(6) + mac[:3] + b"\xff\xfe" + mac[3:]).packed
    size = 8 + len(payload)
    head = struct.pack("!HHH", source, target, size)
    pseudo = sender + SERVERS6.packed + struct.pack("!II", size, 17)
    udp = head + struct.pack("!H", _checksum(pseudo + head + bytes(2) + payload) or 0xFFFF) + payload
    packet = struct.pack("!IHBB", 0x60000000, size, 17, 255) + sender + SERVERS6.packed + udp
    return ethernet(mac, 0x86DD, packet, bytes.fromhex("333300010002"))


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("!HH", code, len(value)) + value


def _checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
