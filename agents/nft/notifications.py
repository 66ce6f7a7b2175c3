"""Notifications of the kernel about changes to nftables (the netlink multicast group NFNLGRP_NFTABLES).

A transaction is a message for each object that came or went, and a last one with the new generation and the process
that made the change (linux/netfilter/nf_tables.h). Parsing is pure; `heard` is the socket.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_NETLINK_NETFILTER = 12
_GROUP = 1 << (7 - 1)  # NFNLGRP_NFTABLES
_SUBSYSTEM = 10  # NFNL_SUBSYS_NFTABLES
_NEW_GENERATION = 15
_REMOVALS = (2, 5, 8, 11, 14, 20, 24)  # tables, chains, rules, sets, elements, objects, flow tables
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr; four octets of struct nfgenmsg follow
_ATTRIBUTE = struct.Struct("=HH")
_TABLE = 1  # the first attribute of every object is its table
_GEN_ID, _PROCESS_NAME = 1, 3


@dataclass(frozen=True, slots=True)
class Transaction:
    """One change: the generation that it led to, the tables from which it removed something, all tables that it
    touched, and the name of the process."""

    generation: int
    removed: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    process: str = ""


class Transactions:
    """Assembles transactions from datagrams."""

    def __init__(self) -> None:
        self._removed: set[str] = set()
        self._touched: set[str] = set()

    def feed(self, datagram: bytes) -> Iterator[Transaction]:
        """Yield the transactions that end in this datagram. A message that is cut off is skipped."""
        offset = 0
        while offset + _HEADER.size + 4 <= len(datagram):
            length, kind, *_ = _HEADER.unpack_from(datagram, offset)
            if length < _HEADER.size + 4:
                return
            attributes = dict(_attributes(datagram[offset + _HEADER.size + 4 : offset + length]))
            offset += (length + 3) & ~3
            if kind >> 8 != _SUBSYSTEM:
                continue
            if kind & 0xFF == _NEW_GENERATION:
                yield self._end(attributes)
            elif (table := _text(attributes.get(_TABLE, b""))) != "":
                self._touched.add(table)
                if kind & 0xFF in _REMOVALS:
                    self._removed.add(table)

    def _end(self, attributes: dict[int, bytes]) -> Transaction:
        generation = int.from_bytes(attributes.get(_GEN_ID, b"")[:4], "big")
        process = _text(attributes.get(_PROCESS_NAME, b""))
        done = Transaction(generation, frozenset(self._removed), frozenset(self._touched), process)
        self._removed, self._touched = set(), set()
        return done


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < _ATTRIBUTE.size:
            return
        yield kind & 0x3FFF, data[offset + _ATTRIBUTE.size : offset + length]
        offset += (length + 3) & ~3


def _text(value: bytes) -> str:
    return value.split(b"\0", 1)[0].decode(errors="replace")


@contextmanager
def heard(told: Callable[[list[Transaction] | None], None]) -> Iterator[None]:
    """Call `told` from the running event loop with each change in this network namespace, or with None if some were
    lost. Raises OSError where the kernel has no nftables."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, _NETLINK_NETFILTER) as receiver:
        receiver.bind((0, _GROUP))
        transactions = Transactions()

        def receive() -> None:
            try:
                found = list(transactions.feed(receiver.recv(1 << 18)))
            except BlockingIOError:
                return
            except OSError:  # ENOBUFS
                told(None)
            else:
                if found:
                    told(found)

        loop = asyncio.get_running_loop()
        loop.add_reader(receiver, receive)
        try:
            yield
        finally:
            loop.remove_reader(receiver)
