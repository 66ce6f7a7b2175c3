"""Kernel notifications about forwarding databases (RTM_NEWNEIGH of the family AF_BRIDGE, linux/neighbour.h).

Parsing is pure; `listen` and `look_up` have the sockets. `listen` reads only so many datagrams a second, so that a
device that makes up MACs costs the agent no more than that. The kernel drops the datagrams that it has no room for
meanwhile, and does not send them again; `look_up` asks for such an entry.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

_GROUP = 0x4  # RTMGRP_NEIGH
_NEW, _GET = 28, 30  # RTM_NEWNEIGH, RTM_GETNEIGH
_REQUEST = 1  # NLM_F_REQUEST
_AF_BRIDGE = 7
_PERMANENT = 0x80  # NUD_PERMANENT: the bridge's and its ports' own
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_NEIGHBOUR = struct.Struct("=BxxxiHBB")  # struct ndmsg
_ATTRIBUTE = struct.Struct("=HH")
_DST, _LLADDR, _MASTER = 1, 2, 9
_AT_ONCE, _PAUSE = 50, 0.05  # so many datagrams, then so many seconds without: 1,000 a second


@dataclass(frozen=True, slots=True)
class FdbEntry:
    """A MAC at the interface with this index. `bridge` is the index of the bridge that reports it, None if the
    interface itself does (a VXLAN device, which adds the VTEP)."""

    mac: str
    interface: int
    bridge: int | None
    vtep: str | None


def entries(datagram: bytes) -> Iterator[FdbEntry]:
    """Yield the unicast MACs that were learned, or have moved. A message that is cut off is skipped."""
    offset = 0
    while offset + _HEADER.size <= len(datagram):
        length, kind, *_ = _HEADER.unpack_from(datagram, offset)
        if length < _HEADER.size:
            return
        body = datagram[offset + _HEADER.size : offset + length]
        offset += (length + 3) & ~3
        if kind == _NEW and len(body) >= _NEIGHBOUR.size and (entry := _entry(body)) is not None:
            yield entry


def _entry(body: bytes) -> FdbEntry | None:
    family, interface, state, _, _ = _NEIGHBOUR.unpack_from(body)
    if family != _AF_BRIDGE:
        return None
    attributes = dict(_attributes(body[_NEIGHBOUR.size :]))
    mac, master, vtep = (attributes.get(key, b"") for key in (_LLADDR, _MASTER, _DST))
    bridge = int.from_bytes(master, sys.byteorder) if len(master) == 4 else None
    if len(mac) != 6 or mac[0] & 1 or not any(mac) or (bridge is not None and state & _PERMANENT):
        return None
    where = {4: socket.AF_INET, 16: socket.AF_INET6}.get(len(vtep))
    return FdbEntry(mac.hex(":"), interface, bridge, socket.inet_ntop(where, vtep) if where is not None else None)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < _ATTRIBUTE.size:
            return
        yield kind & 0x3FFF, data[offset + _ATTRIBUTE.size : offset + length]
        offset += (length + 3) & ~3


async def listen(told: Callable[[FdbEntry], None]) -> None:
    """Call `told` with each entry, until it is cancelled."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE) as receiver:
        receiver.bind((0, _GROUP))
        while True:
            for _ in range(_AT_ONCE):
                with suppress(OSError):  # ENOBUFS: some were lost, as others may be
                    for entry in entries(await loop.sock_recv(receiver, 65536)):
                        told(entry)
            await asyncio.sleep(_PAUSE)


def look_up(bridge: int, mac: str) -> FdbEntry | None:
    """Return the entry of a MAC at the bridge with this index, or None. The kernel answers within the call (Linux 5.0
    or later). Raises OSError if the kernel cannot be asked."""
    request = _question(bridge, bytes.fromhex(mac.replace(":", "")))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE) as asker:
        asker.sendto(request, (0, 0))
        return next(entries(asker.recv(65536)), None)


def _question(bridge: int, mac: bytes) -> bytes:
    body = _NEIGHBOUR.pack(_AF_BRIDGE, 0, 0, 0, 0)
    for key, value in ((_LLADDR, mac), (_MASTER, struct.pack("=I", bridge))):
        body += _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), key) + value + bytes(-len(value) % 4)
    return _HEADER.pack(_HEADER.size + len(body), _GET, _REQUEST, 1, 0) + body
