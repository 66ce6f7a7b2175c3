"""Classic BPF filters on sockets (linux/filter.h): the kernel drops packets that a packet socket need not see."""

import ctypes
import socket
import struct
from collections.abc import Sequence

Step = tuple[int, int, int, int]
"""An instruction: its code, the numbers of instructions to skip if true and if false, and a value."""

LENGTH, WORD, HALF, BYTE = 0x80, 0x20, 0x28, 0x30
"""Codes of the load instructions: the packet's length, or a word, a half word or a byte at an offset."""

EQUAL, GREATER, ANSWER = 0x15, 0x25, 0x06
"""Codes of the instructions that compare, and of the one that ends the program and accepts so many octets."""

NOTHING: tuple[Step, ...] = ((ANSWER, 0, 0, 0),)
"""A program that accepts no packet."""

_SO_ATTACH_FILTER = 26
_INSTRUCTION = struct.Struct("=HBBI")


def matching(*fields: tuple[int, int, int]) -> list[Step]:
    """Return a program that accepts whole packets with all of these fields. A field is its load instruction, its offset
    and its value."""
    steps: list[Step] = []
    for number, (load, at, value) in enumerate(fields):
        to_drop = 2 * (len(fields) - 1 - number) + 1
        steps += [(load, 0, 0, at), (EQUAL, 0, to_drop, value)]
    return [*steps, (ANSWER, 0, 0, 0xFFFF), *NOTHING]


def attach(on: socket.socket, program: Sequence[Step]) -> None:
    """Attach the program to the socket, which from now on receives only the packets that the program accepts. Raises
    OSError."""
    code = ctypes.create_string_buffer(b"".join(_INSTRUCTION.pack(*step) for step in program))
    on.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", len(program), ctypes.addressof(code)))
