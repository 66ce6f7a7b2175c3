"""Frames for the fence's tests, each with its name inside: frames that may pass a tunnel's port, and frames that may
not."""

import struct
from collections.abc import Callable
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


def _behind(header: str) -> Callable[[bytes], bytes]:
    """Return a function that puts another header in front of a frame's EtherType and payload."""
    return lambda frame: frame[:12] + bytes.fromhex(header) + frame[12:]


def _behind_llc(llc: str, payload_from: int) -> Callable[[bytes], bytes]:
    """Return a function that makes an IEEE 802.3 frame: a length, this LLC header, and the octets of the original frame
    from `payload_from` on."""

    def frame_of(frame: bytes) -> bytes:
        payload = bytes.fromhex(llc) + frame[payload_from:]
        return frame[:12] + struct.pack("!H", len(payload)) + payload

    return frame_of


WRAPPINGS: dict[str, Callable[[bytes], bytes]] = {
    "snap": _behind_llc("aaaa03000000", 12),
    "snap-bridged": _behind_llc("aaaa030000f8", 12),
    "llc-ip": _behind_llc("060603", 14),
    "snap-to-bridges": lambda frame: bytes.fromhex("0180c2000000") + WRAPPINGS["snap"](frame)[6:],
    "snap-in-q": lambda frame: _behind("81000000")(WRAPPINGS["snap"](frame)),
    "q": _behind("81000000"),
    "q-of-a-vlan": _behind("81000007"),
    "ad": _behind("88a80000"),
    "q-in-q": _behind("8100000081000000"),
    "q-in-ad": _behind("88a8000081000000"),
    "three-tags": _behind("88a800008100000081000000"),
    "9100": _behind("91000000"),
    "9200": _behind("92000000"),
    "itag": _behind("88e70000000002005e0000bb02005e0000aa"),
    "rtag": _behind("f1c100000000"),
    "hsr": _behind("892f00000000"),
    "pppoe": lambda frame: frame[:12] + bytes.fromhex("88641100000100100021") + frame[14:],
    "mpls": lambda frame: frame[:12] + bytes.fromhex("884700001140") + frame[14:],
    "teb": lambda frame: frame[:12] + bytes.fromhex("6558") + frame,
}
"""Functions that put the content of a frame behind other headers than Ethernet II."""

BPDU = bytes.fromhex("0180c2000000") + bytes.fromhex("02005e0000aa") + struct.pack("!H", 38) + bytes.fromhex("424203")
"""The beginning of a spanning tree frame (IEEE 802.1D, section 9)."""
