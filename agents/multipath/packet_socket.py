"""The frames on a LAN's bridge to or from one address that may be part of a handshake; the kernel filters out the rest.

Only short packets (with hardly any data) pass: every subflow begins with some, and a bridge forwards gigabits of
others.
"""

import socket
import struct

from agents import bpf
from agents.bpf import ANSWER, BYTE, EQUAL, GREATER, HALF, LENGTH, WORD, Step
from agents.multipath.segment import Address

_ETH_P_ALL = 0x0003
_SOL_PACKET, _ADD_MEMBERSHIP, _PROMISCUOUS = 263, 1, 1
_LONGEST = 160  # octets of a frame; headers with all of TCP's options are 134


def program(address: Address) -> list[Step]:
    """Return the filter: TCP from or to that address, in a frame without a tag. (The kernel has removed a tag
    before.)"""
    kind, protocol, source, target = (0x0800, 23, 26, 30) if address.version == 4 else (0x86DD, 20, 22, 38)
    words = struct.unpack(f"!{len(address.packed) // 4}I", address.packed)
    ends = [[(WORD, start + 4 * i, word) for i, word in enumerate(words)] for start in (source, target)]
    both = [(HALF, 12, kind), (BYTE, protocol, 6)]
    other_end = 2 + 2 * len(both) + 2 * len(words)
    keep = other_end + 2 * len(words)
    drop = keep + 1
    steps = [(LENGTH, 0, 0, 0), (GREATER, drop - 2, 0, _LONGEST)]
    for tests, then, otherwise in ((both, None, drop), (ends[0], keep, other_end), (ends[1], keep, drop)):
        for i, (load, at, value) in enumerate(tests):
            steps.append((load, 0, 0, at))
            following = len(steps) + 1
            last = i == len(tests) - 1 and then is not None
            steps.append((EQUAL, (then or 0) - following if last else 0, otherwise - following, value))
    return [*steps, (ANSWER, 0, 0, _LONGEST), (ANSWER, 0, 0, 0)]


def attach(on: socket.socket, address: Address) -> None:
    """Limit the socket to these frames, from now on. Raises OSError."""
    bpf.attach(on, program(address))


def packet_socket(device: str, address: Address) -> socket.socket:
    """Return a socket that receives those frames from now on. It is promiscuous: a bridge does not pass on forwarded
    frames otherwise. Raises OSError."""
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    try:
        attach(found, address)
        request = struct.pack("=iHH8s", socket.if_nametoindex(device), _PROMISCUOUS, 0, b"")
        found.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, request)
        found.bind((device, _ETH_P_ALL))
    except OSError:
        found.close()
        raise
    return found
