"""Sends questions over each LAN's bridge, and receives the answers."""

import asyncio
import logging
import random
import socket
from collections.abc import Callable
from contextlib import suppress

from agents import bpf
from agents.passages.questions import NEIGHBOURS
from agents.passages.table import Table
from agents.passages.targets import ProbingLan, Target, targets
from controller.wire.desired import Desired
from controller.wire.findings import Passage

log = logging.getLogger(__name__)

PAUSE = 0.05
"""Seconds between two questions of any LAN: 20 a second."""

_IDLE = 5.0


class Prober:
    """The probes of one cloudlet. Prober calls `changed` when a verdict has changed."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._table = Table(random.Random())
        self._sockets: dict[ProbingLan, tuple[int, socket.socket]] = {}
        self._news = asyncio.Event()
        self._wanted: list[Target] = []

    def intend(self, desired: Desired) -> None:
        """Ask the gateways of these remotes from now on."""
        wanted = list(targets(desired))
        if wanted != self._wanted:
            self._wanted = wanted
            self._table.intend(wanted, asyncio.get_running_loop().time())
            self._news.set()

    def passages(self, endpoint: str) -> list[Passage]:
        """Return the verdicts on that LAN's pairs."""
        return self._table.passages(endpoint)

    async def run(self) -> None:
        """Probe until it is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                for target, mac in self._table.due(loop.time()):
                    self._ask(target, mac)
                    await asyncio.sleep(PAUSE)
                if self._table.lapse(loop.time()):
                    self._changed()
                due = self._table.next()
                wait = _IDLE if due is None else min(max(due - loop.time(), PAUSE), _IDLE)
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._news.wait()
                self._news.clear()
        finally:
            for lan in list(self._sockets):
                self._close(lan)

    def _ask(self, target: Target, mac: str | None) -> None:
        lan = target.lan
        try:
            question = NEIGHBOURS[lan.version].request(lan.mac, lan.gateway, target.address, mac)
            self._socket(lan).send(question)
        except OSError as error:  # no such bridge now: the pair is silent
            log.debug("%s cannot be asked from %s: %s", target.address, lan.bridge, error)
            self._close(lan)

    def _socket(self, lan: ProbingLan) -> socket.socket:
        """Return the socket on the present bridge: a recreated bridge is another interface."""
        for other in [one for one in self._sockets if _interface(one) == _interface(lan) and one != lan]:
            self._close(other)
        index = socket.if_nametoindex(lan.bridge)
        known = self._sockets.get(lan)
        if known is not None and known[0] == index:
            return known[1]
        self._close(lan)
        protocol = NEIGHBOURS[lan.version]
        fresh = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        try:
            bpf.attach(fresh, protocol.ANSWERS)
            fresh.bind((lan.bridge, protocol.ETHER))
        except OSError:
            fresh.close()
            raise
        self._sockets[lan] = index, fresh
        asyncio.get_running_loop().add_reader(fresh, self._hear, lan, fresh)
        return fresh

    def _hear(self, lan: ProbingLan, ear: socket.socket) -> None:
        try:
            heard = NEIGHBOURS[lan.version].answer(ear.recv(128), lan.mac)
        except BlockingIOError:
            return
        except OSError:
            self._close(lan)
            return
        now = asyncio.get_running_loop().time()
        if heard is not None and self._table.answered(lan.endpoint, *heard, now):
            self._changed()

    def _close(self, lan: ProbingLan) -> None:
        if (known := self._sockets.pop(lan, None)) is not None:
            asyncio.get_running_loop().remove_reader(known[1])
            known[1].close()


def _interface(lan: ProbingLan) -> tuple[str, int]:
    return lan.bridge, lan.version
