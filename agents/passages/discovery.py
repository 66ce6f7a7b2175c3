"""Neighbour discovery (RFC 4861) between gateways, as Ethernet frames. Pure."""

import struct
from ipaddress import IPv6Address

from agents.bpf import BYTE, HALF, Step, matching
from agents.neighbours.icmp import checksum

ETHER = 0x86DD
_ICMPV6, _HOPS = 58, 255
_SOLICITATION, _ADVERTISEMENT = 135, 136
_ETHERNET = struct.Struct("!6s6sH")
_IP = struct.Struct("!IHBB16s16s")
_MESSAGE = struct.Struct("!BBHI16s")
_SOURCE = b"\1\1"  # the option with the sender's MAC, in units of 8 octets
_GROUP = IPv6Address("ff02::1:ff00:0").packed[:13]  # of solicited nodes (RFC 4291, section 2.7.1)

ANSWERS: list[Step] = matching((HALF, 12, ETHER), (BYTE, 20, _ICMPV6), (BYTE, 54, _ADVERTISEMENT))
"""The filter of a packet socket for answers. Without it the socket would get everything that the LAN's devices
route."""


def request(mac: str, address: str, target: str, to: str | None) -> bytes:
    """Return a frame that asks, from that MAC and address, who has the target. `to` is the frame's destination, None
    for everybody whose address may be the target."""
    source, wanted = IPv6Address(address).packed, IPv6Address(target).packed
    group = _GROUP + wanted[13:]
    ether = _octets(to) if to is not None else b"\x33\x33" + group[12:]
    goal = wanted if to is not None else group
    option = _SOURCE + _octets(mac)
    length = _MESSAGE.size + len(option)
    bare = _MESSAGE.pack(_SOLICITATION, 0, 0, 0, wanted) + option
    summed = checksum(source + goal + struct.pack("!II", length, _ICMPV6) + bare)
    message = _MESSAGE.pack(_SOLICITATION, 0, summed, 0, wanted) + option
    head = _IP.pack(6 << 28, length, _ICMPV6, _HOPS, source, goal)
    return _ETHERNET.pack(ether, _octets(mac), ETHER) + head + message


def answer(frame: bytes, mac: str) -> tuple[str, str] | None:
    """Return the address that answers, and the MAC that it comes from, or None if the frame is no answer to this
    MAC."""
    if len(frame) < _ETHERNET.size + _IP.size + _MESSAGE.size:
        return None
    to, sender, kind = _ETHERNET.unpack_from(frame)
    _, _, protocol, hops, _, _ = _IP.unpack_from(frame, _ETHERNET.size)
    message, code, _, _, address = _MESSAGE.unpack_from(frame, _ETHERNET.size + _IP.size)
    if (to, kind, protocol, hops, message, code) != (_octets(mac), ETHER, _ICMPV6, _HOPS, _ADVERTISEMENT, 0):
        return None
    return str(IPv6Address(address)), sender.hex(":")


def _octets(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))
