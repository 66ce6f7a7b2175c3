"""Kernel notifications. They say only that something changed; the agent then reads the kernel (level-triggered).

The netlink port id in the message header tells the agent's own changes apart. The agent parses a message only as far as
it takes to decide whether the message matters. Of the neighbour messages only those about all-zeros FDB entries do, as
ARP and MAC learning go on all the time.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# RTMGRP_LINK, _NEIGH (with FDB), then for IPv4 and for IPv6 _IFADDR, _ROUTE and rules.
_GROUPS = 0x1 | 0x4 | (0x10 | 0x40 | 0x80) | (0x100 | 0x400 | 1 << 18)
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port id
_NEIGHBOUR = (28, 29)  # RTM_NEWNEIGH, RTM_DELNEIGH
_ZEROS_LLADDR = struct.pack("=HH", 10, 2) + bytes(6)  # the attribute NDA_LLADDR with 00:00:00:00:00:00


def matters(datagram: bytes, own: int) -> bool:
    """Return whether any message in the datagram is a change by somebody else that a plan could depend on."""
    offset = 0
    while offset + _HEADER.size <= len(datagram):
        length, kind, _, _, port = _HEADER.unpack_from(datagram, offset)
        if length < _HEADER.size:
            return True
        body = datagram[offset + _HEADER.size : offset + length]
        if port != own and (kind not in _NEIGHBOUR or _ZEROS_LLADDR in body):
            return True
        offset += (length + 3) & ~3
    return False


@contextmanager
def watching(own: int, changed: Callable[[], None]) -> Iterator[None]:
    """Call `changed` from the running event loop after each change by others. Changes of the port id `own` do not
    count."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as receiver:
        receiver.setblocking(False)
        receiver.bind((0, _GROUPS))

        def receive() -> None:
            try:
                relevant = matters(receiver.recv(65536), own)
            except BlockingIOError:
                return
            except OSError:  # ENOBUFS: messages were lost, so anything may have changed
                relevant = True
            if relevant:
                changed()

        loop = asyncio.get_running_loop()
        loop.add_reader(receiver, receive)
        try:
            yield
        finally:
            loop.remove_reader(receiver)
