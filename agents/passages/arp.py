"""ARP (RFC 826) between gateways, as Ethernet frames. Pure."""

import struct
from ipaddress import IPv4Address

from agents.bpf import HALF, Step, matching

ETHER = 0x0806
_HEAD = struct.pack("!HHBB", 1, 0x0800, 6, 4)
_FRAME = struct.Struct("!6s6sH6sH6s4s6s4s")
_REQUEST, _REPLY = 1, 2
_BROADCAST = "ff:ff:ff:ff:ff:ff"

ANSWERS: list[Step] = matching((HALF, 12, ETHER), (HALF, 20, _REPLY))
"""The filter of a packet socket for answers."""


def request(mac: str, address: str, target: str, to: str | None) -> bytes:
    """Return a frame that asks, from that MAC and address, who has the target. `to` is the frame's destination, None
    for everybody."""
    return _FRAME.pack(
        _octets(to or _BROADCAST),
        _octets(mac),
        ETHER,
        _HEAD,
        _REQUEST,
        _octets(mac),
        IPv4Address(address).packed,
        bytes(6),
        IPv4Address(target).packed,
    )


def answer(frame: bytes, mac: str) -> tuple[str, str] | None:
    """Return the address that answers, and its MAC, or None if the frame is no answer to this MAC."""
    if len(frame) < _FRAME.size:
        return None
    to, _, kind, head, operation, sender, address, *_ = _FRAME.unpack_from(frame)
    if (to, kind, head, operation) != (_octets(mac), ETHER, _HEAD, _REPLY):
        return None
    return str(IPv4Address(address)), sender.hex(":")


def _octets(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))
