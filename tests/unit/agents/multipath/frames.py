"""Frames as machines on a LAN send them, written from RFC 8684's figures. They have no checksums, as no code here reads
them."""

import struct
from ipaddress import ip_address

from agents.multipath.segment import ACK, SYN, Address, End

NOPS_AND_TIMESTAMP = bytes((1, 1, 8, 10)) + bytes(8)


def mptcp(subtype: int, low: int, rest: bytes) -> bytes:
    return bytes((30, 3 + len(rest), subtype << 4 | low)) + rest


def join_syn(token: int, address_id: int = 2, backup: bool = False, random: int = 7) -> bytes:
    return mptcp(1, int(backup), struct.pack("!BII", address_id, token, random))


def join_synack(address_id: int = 3, backup: bool = False, random: int = 8) -> bytes:
    return mptcp(1, int(backup), struct.pack("!B8sI", address_id, b"h" * 8, random))


def join_ack() -> bytes:
    return mptcp(1, 0, b"\0" + b"H" * 20)


def dss() -> bytes:
    return mptcp(2, 0, bytes((0x01,)) + bytes(4))


def tcp(source: int, target: int, sequence: int, acknowledgment: int, flags: int, options: bytes, data: bytes) -> bytes:
    options += b"\0" * (-len(options) % 4)
    offset = (20 + len(options)) << 2
    head = struct.pack("!HHIIBBHHH", source, target, sequence, acknowledgment, offset, flags, 1000, 0, 0)
    return head + options + data


def ip(source: Address, target: Address, payload: bytes, chain: bytes = b"", first: int = 6) -> bytes:
    """Return an IP packet; IPv6 with the extension headers `chain`, of which `first` is the number of the first."""
    if source.version == 4:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0x4000, 64, 6, 0)
        return head + source.packed + target.packed + payload
    head = struct.pack("!IHBB", 0x60000000, len(chain) + len(payload), first, 64)
    return head + source.packed + target.packed + chain + payload


def ethernet(packet: bytes, tags: tuple[int, ...] = ()) -> bytes:
    kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    tagged = b"".join(struct.pack("!HH", tag, 5) for tag in tags)
    return bytes(6) + bytes.fromhex("02005e000001") + tagged + struct.pack("!H", kind) + packet


def frame(
    source: End, target: End, sequence: int, acknowledgment: int, flags: int, options: bytes = b"", data: bytes = b""
) -> bytes:
    segment = tcp(source.port, target.port, sequence, acknowledgment, flags, options, data)
    return ethernet(ip(source.address, target.address, segment))


def handshake(initiator: End, acceptor: End, token: int, x: int = 1000, y: int = 5000) -> list[bytes]:
    """Return the four packets of a join; `x` and `y` are the first sequence numbers."""
    x1, y1 = (x + 1) % (1 << 32), (y + 1) % (1 << 32)
    return [
        frame(initiator, acceptor, x, 0, SYN, NOPS_AND_TIMESTAMP + join_syn(token)),
        frame(acceptor, initiator, y, x1, SYN | ACK, NOPS_AND_TIMESTAMP + join_synack()),
        frame(initiator, acceptor, x1, y1, ACK, join_ack()),
        frame(acceptor, initiator, y1, x1, ACK, NOPS_AND_TIMESTAMP + dss()),
    ]


def end(address: str, port: int) -> End:
    return End(ip_address(address), port)
