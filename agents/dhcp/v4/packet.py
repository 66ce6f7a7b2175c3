"""IPv4 and UDP around a DHCP reply. The kernel's UDP cannot reach a client without an address: it answers no ARP."""

import struct
from ipaddress import IPv4Address

SERVER_PORT = 67
CLIENT_PORT = 68
_UDP = 17


def packet(source: IPv4Address, target: IPv4Address, payload: bytes) -> bytes:
    """Return an IPv4 packet from the server's to the client's port."""
    length = 8 + len(payload)
    pseudo = source.packed + target.packed + struct.pack("!BBH", 0, _UDP, length)
    ports = struct.pack("!HHH", SERVER_PORT, CLIENT_PORT, length)
    # 0 would mean "no checksum" (RFC 768), so a sum of 0 is sent as 0xFFFF.
    udp = ports + struct.pack("!H", _checksum(pseudo + ports + bytes(2) + payload) or 0xFFFF)
    head = struct.pack("!BBHHHBB", 0x45, 0x10, 20 + length, 0, 0, 64, _UDP)
    addresses = source.packed + target.packed
    return head + struct.pack("!H", _checksum(head + bytes(2) + addresses)) + addresses + udp + payload


def _checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
