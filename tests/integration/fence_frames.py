"""Frames for the fence's tests, each with its name inside: such as may pass a tunnel's port, and such as may not."""

import struct
from ipaddress import IPv4Address, IPv6Address

EVERYBODY = b"\xff" * 6


def label(name: str) -> bytes:
    return f"<{name}>".encode()


def ethernet(kind: int, payload: bytes, to: bytes = EVERYBODY) -> bytes:
    return to + bytes.fromhex("02005e0000aa") + struct.pack("!H", kind) + payload


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def udp4(name: str, source: str, target: str, ports: tuple[int, int] = (4000, 5555)) -> bytes:
    udp = struct.pack("!HHHH", *ports, 8 + len(label(name)), 0) + label(name)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    addresses = IPv4Address(source).packed + IPv4Address(target).packed
    return head[:10] + struct.pack("!H", checksum(head + addresses)) + addresses + udp


def ip6(name: str, next_header: int, payload: bytes, hop_by_hop: bool = False, source: str = "fe80::aa") -> bytes:
    if hop_by_hop:
        payload, next_header = bytes((next_header, 0, 5, 2, 0, 0, 1, 0)) + payload, 0
    payload += label(name)
    addresses = IPv6Address(source).packed + IPv6Address("ff02::1").packed
    return struct.pack("!IHBB", 0x60000000, len(payload), next_header, 255) + addresses + payload


def icmp6(name: str, kind: int, hop_by_hop: bool = False, source: str = "fe80::aa", about: str = "::") -> bytes:
    octets = struct.pack("!BBHI", kind, 0, 0, 0) + IPv6Address(about).packed
    return ip6(name, 58, octets, hop_by_hop, source)


def udp6(name: str, port: int) -> bytes:
    return ip6(name, 17, struct.pack("!HHHH", 4000, port, 8, 0))


def arp(name: str) -> bytes:
    return (
        struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1)
        + bytes(6)
        + bytes((10, 2, 0, 2))
        + bytes(6)
        + bytes((10, 1, 0, 9))
        + label(name)
    )


PASSING = {
    "arp": ethernet(0x0806, arp("arp")),
    "ipv4": ethernet(0x0800, udp4("ipv4", "10.2.0.2", "10.1.0.255")),
    "echo6": ethernet(0x86DD, icmp6("echo6", 128)),
}


FENCED = {
    "dhcp": {
        "dhcp4-client": ethernet(0x0800, udp4("dhcp4-client", "0.0.0.0", "255.255.255.255", (68, 67))),
        "dhcp4-server": ethernet(0x0800, udp4("dhcp4-server", "10.2.0.1", "255.255.255.255", (67, 68))),
        "dhcp6-client": ethernet(0x86DD, udp6("dhcp6-client", 547)),
        "dhcp6-server": ethernet(0x86DD, udp6("dhcp6-server", 546)),
    },
    "nd": {
        **{
            name: ethernet(0x86DD, icmp6(name, kind))
            for name, kind in zip(("rs", "ra", "ns", "na", "redirect"), range(133, 138), strict=True)
        },
        "ra-behind-options": ethernet(0x86DD, icmp6("ra-behind-options", 134, hop_by_hop=True)),
    },
    "tagged": {
        "vlan": ethernet(0x8100, struct.pack("!HH", 0, 0x0806) + arp("vlan")),
        "vlan-twice": ethernet(0x8100, struct.pack("!HHHH", 0, 0x8100, 0, 0x86DD) + icmp6("vlan-twice", 134)),
    },
}


ALL = PASSING | {name: frame for frames in FENCED.values() for name, frame in frames.items()}
