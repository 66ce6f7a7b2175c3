"""IPv6 and UDP around a DHCPv6 message, as it is seen on the bridge.

The server reads packets and not just datagrams because only packets have the Ethernet address of the sender. It is the
only property of a client that DHCPv4 knows too and that a client cannot change in every message, as it can its DUID.
"""

import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv6Address

from agents import bpf

SERVER_PORT, CLIENT_PORT = 547, 546
SERVERS = IPv6Address("ff02::1:2")
"""All_DHCP_Relay_Agents_and_Servers (RFC 8415 section 7.1)."""

_HEAD = 40
_UDP = 17
_SOL_PACKET, _PACKET_AUXDATA = 263, 8
_AUXDATA = struct.Struct("=I")  # the first field of struct tpacket_auxdata: status
_NOT_SUMMED = 1 << 3  # TP_STATUS_CSUMNOTREADY: sent on this machine, which leaves the checksum to the hardware
_FOR_US = (socket.PACKET_HOST, socket.PACKET_MULTICAST)

# Over a packet without its Ethernet header: UDP to the server's port.
_ONLY_DHCP = bpf.matching((bpf.BYTE, 6, _UDP), (bpf.HALF, _HEAD + 2, SERVER_PORT))


class PacketError(ValueError):
    """Raised for data that is no whole UDP packet. The text says why."""


@dataclass(frozen=True)
class Packet:
    """The `payload` of a packet from `source` to `target`; `port` is the sender's."""

    source: IPv6Address
    target: IPv6Address
    port: int
    payload: bytes


def parse(data: bytes, summed: bool) -> Packet:
    """Read a packet; check its checksum only if it is `summed`. Raises PacketError."""
    if len(data) < _HEAD + 8 or data[0] >> 4 != 6 or data[6] != _UDP:
        raise PacketError("not UDP over IPv6")
    source, target = IPv6Address(data[8:24]), IPv6Address(data[24:40])
    port, to, length, checksum = struct.unpack_from("!HHHH", data, _HEAD)
    udp = data[_HEAD : _HEAD + length]
    if to != SERVER_PORT or length < 8 or len(udp) < length:
        raise PacketError("cut short, or for another port")
    if summed and (not checksum or _sum(source.packed + target.packed + struct.pack("!II", length, _UDP) + udp)):
        raise PacketError("wrong checksum")
    return Packet(source, target, port, udp[8:])


def _sum(data: bytes) -> int:
    """Return the Internet checksum: 0 if the data contains the right one."""
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ear(device: str) -> socket.socket:
    """Return a socket that receives the packets that come in on `device` for the server's port, to any address. The
    kernel filters out all others, or every routed packet would pass through here. Raises OSError."""
    found = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    try:
        bpf.attach(found, _ONLY_DHCP)
        found.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        found.bind((device, 0x86DD))
    except OSError:
        found.close()
        raise
    return found


def mouth(device: str) -> socket.socket:
    """Return a UDP socket on the server's port. It sends, and its membership lets the multicast group's packets come
    in; only the ear receives them. Raises OSError."""
    found = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    try:
        bpf.attach(found, bpf.NOTHING)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        found.bind(("::", SERVER_PORT))
        group = SERVERS.packed + struct.pack("=I", socket.if_nametoindex(device))
        found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
    except OSError:
        found.close()
        raise
    return found


def hear(ear: socket.socket) -> tuple[bytes, Packet] | None:
    """Return the next packet and its Ethernet source address; None for a packet that is not for this host. Raises
    PacketError, and BlockingIOError when there is no packet."""
    data, ancillary, _, (_, _, kind, _, mac) = ear.recvmsg(65536, 64)
    if kind not in _FOR_US:
        return None
    statuses = [_AUXDATA.unpack_from(value)[0] for level, _, value in ancillary if level == _SOL_PACKET]
    return mac, parse(data, summed=not any(status & _NOT_SUMMED for status in statuses))
