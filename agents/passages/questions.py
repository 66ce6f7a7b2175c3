"""Asks gateways from one LAN, in one family, and waits for each answer: who has an address, and echoes."""

import asyncio
import errno
import secrets
import socket
from collections.abc import Awaitable, Callable
from typing import Protocol

from agents import bpf
from agents.dhcp.dual_stack import Version
from agents.passages import arp, discovery, echo
from agents.passages.targets import ProbingLan

WAIT = 1.0
"""Seconds to wait for an answer."""

_ROOM = 256
"""Octets that are read of an answer: its headers."""


class Neighbours(Protocol):
    """The questions and answers about MACs of one family, as Ethernet frames."""

    ETHER: int
    ANSWERS: list[bpf.Step]

    def request(self, mac: str, address: str, target: str, to: str | None) -> bytes: ...
    def answer(self, frame: bytes, mac: str) -> tuple[str, str] | None: ...


NEIGHBOURS: dict[Version, Neighbours] = {4: arp, 6: discovery}


class Questions:
    """The questions of one LAN. `turn` is awaited before each one. `close` leaves nothing behind: the sockets take no
    address, and nothing is written into the kernel's tables. Raises OSError if there is no such bridge."""

    def __init__(self, lan: ProbingLan, turn: Callable[[], Awaitable[None]]) -> None:
        self._lan, self._turn = lan, turn
        self._identifier, self._number = secrets.randbits(16), 0
        self._asked: dict[str, asyncio.Future[str]] = {}
        self._echoes: dict[int, tuple[str, asyncio.Future[None]]] = {}
        self._protocol = NEIGHBOURS[lan.version]
        self._asking = _socket(lan.bridge, self._protocol.ETHER, self._protocol.ANSWERS)
        try:
            self._echoing = _socket(lan.bridge, echo.ETHER[lan.version], echo.ANSWERS[lan.version])
        except OSError:
            self._asking.close()
            raise
        loop = asyncio.get_running_loop()
        loop.add_reader(self._asking, self._hear_neighbour)
        loop.add_reader(self._echoing, self._hear_echo)

    def close(self) -> None:
        """Close the sockets."""
        loop = asyncio.get_running_loop()
        for one in (self._asking, self._echoing):
            loop.remove_reader(one)
            one.close()

    async def resolve(self, address: str) -> tuple[float, str] | None:
        """Ask everybody on the LAN who has an address. Return the milliseconds that the answer took, and the MAC in it;
        None without an answer in time. Raises OSError."""
        await self._turn()
        loop = asyncio.get_running_loop()
        future = self._asked[address] = loop.create_future()
        began = loop.time()
        try:
            self._asking.send(self._protocol.request(self._lan.mac, self._lan.gateway, address, None))
            async with asyncio.timeout(WAIT):
                mac = await future
        except TimeoutError:
            return None
        finally:
            if self._asked.get(address) is future:
                del self._asked[address]
        return 1000 * (loop.time() - began), mac

    async def echo(self, address: str, mac: str, size: int) -> float | None:
        """Send an echo of `size` bytes. Return the milliseconds until its answer, or None without one in time, or if
        the bridge takes no packet of that size. Raises OSError."""
        await self._turn()
        loop = asyncio.get_running_loop()
        self._number = number = (self._number + 1) % 2**16
        future: asyncio.Future[None] = loop.create_future()
        self._echoes[number] = address, future
        own = self._lan
        question = echo.Echo(own.mac, own.gateway, mac, address, self._identifier, number, size)
        began = loop.time()
        try:
            self._echoing.send(echo.request(question, own.version))
            async with asyncio.timeout(WAIT):
                await future
        except TimeoutError:
            return None
        except OSError as error:
            if error.errno != errno.EMSGSIZE:
                raise
            return None
        finally:
            self._echoes.pop(number, None)
        return 1000 * (loop.time() - began)

    def _hear_neighbour(self) -> None:
        found = self._protocol.answer(_read(self._asking), self._lan.mac)
        if found is not None and (future := self._asked.get(found[0])) is not None and not future.done():
            future.set_result(found[1])

    def _hear_echo(self) -> None:
        found = echo.answer(_read(self._echoing), self._lan.version, self._lan.mac, self._identifier)
        if found is None:
            return
        address, future = self._echoes.get(found[1], ("", None))
        if future is not None and address == found[0] and not future.done():
            future.set_result(None)


def _socket(bridge: str, ether: int, program: list[bpf.Step]) -> socket.socket:
    fresh = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    try:
        bpf.attach(fresh, program)
        fresh.bind((bridge, ether))
    except OSError:
        fresh.close()
        raise
    return fresh


def _read(one: socket.socket) -> bytes:
    """Return the beginning of a frame, empty if there is none or the bridge is gone: then the answer stays away."""
    try:
        return one.recv(_ROOM)
    except OSError:
        return b""
