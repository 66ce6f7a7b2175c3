"""Classic BPF on sockets (linux/filter.h): the kernel sorts out what a packet socket need not see."""

import ctypes
import socket
import struct
from collections.abc import Sequence

Step = tuple[int, int, int, int]
"""An instruction: code, how many to skip if true, if false, and a value."""

LENGTH, WORD, HALF, BYTE = 0x80, 0x20, 0x28, 0x30
"""The instruction that loads: the packet's length, or so many octets from an offset on."""

EQUAL, GREATER, ANSWER = 0x15, 0x25, 0x06
"""The instructions that compare, and that let so many octets through."""

NOTHING: tuple[Step, ...] = ((ANSWER, 0, 0, 0),)
"""Lets nothing through."""

_SO_ATTACH_FILTER = 26
_INSTRUCTION = struct.Struct("=HBBI")


def matching(*fields: tuple[int, int, int]) -> list[Step]:
    """Lets through whole packets with all of these fields: what is loaded, from where, and its value."""
    steps: list[Step] = []
    for number, (load, at, value) in enumerate(fields):
        to_drop = 2 * (len(fields) - 1 - number) + 1
        steps += [(load, 0, 0, at), (EQUAL, 0, to_drop, value)]
    return [*steps, (ANSWER, 0, 0, 0xFFFF), *NOTHING]


def attach(on: socket.socket, program: Sequence[Step]) -> None:
    """From now on the socket gets what the program lets through. Raises OSError."""
    code = ctypes.create_string_buffer(b"".join(_INSTRUCTION.pack(*step) for step in program))
    on.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", len(program), ctypes.addressof(code)))
