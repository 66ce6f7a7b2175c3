"""STAMP, the Simple Two-Way Active Measurement Protocol (RFC 8762, unauthenticated mode), over UDP, for paths that do
not pass ICMP. Both ends are here, and any STAMP sender can measure a cloudlet that knows it.

The reflector answers candidates only, never with more bytes than it was sent, never another reflector, and not too
often. It reports when a packet came and went, so that its own time does not count.
"""

import asyncio
import socket
import struct
import time
from collections.abc import Callable, Container
from contextlib import suppress

from agents.dhcp.pace import Pace
from agents.neighbours import clocks
from agents.neighbours.waiting import Waiting
from controller.wire.neighbours import Method

PORT = 862
SIZE = 44
_SENDER = struct.Struct("!IIIH30x")
_REFLECTOR = struct.Struct("!IIIHxxIIIIIHxxB3x")
_ERROR = 1
"""The error estimate: clock not synchronised, NTP's format, and the smallest multiplier that is allowed."""

_NTP = 2_208_988_800
_IP_RECVTTL, _IP_TTL = 12, 2

BURST, RATE = 40, 20
"""Packets of one candidate that the reflector answers at once, and then per second."""


def timestamp(real: float) -> tuple[int, int]:
    """Return NTP's seconds and fraction (RFC 5905, section 6)."""
    seconds, fraction = divmod(real + _NTP, 1)
    return int(seconds) & 0xFFFFFFFF, int(fraction * 2**32) & 0xFFFFFFFF


def request(number: int, real: float) -> bytes:
    """Return a session-sender's packet."""
    return _SENDER.pack(number, *timestamp(real), _ERROR)


def reply(packet: bytes, came: float, goes: float, ttl: int) -> bytes | None:
    """Return the answer of a stateless reflector, or None to a packet that is too short to be answered."""
    if len(packet) < SIZE:
        return None
    number, seconds, fraction, error = _SENDER.unpack_from(packet)
    return _REFLECTOR.pack(
        number, *timestamp(goes), _ERROR, *timestamp(came), number, seconds, fraction, error, ttl & 0xFF
    )


def answer(packet: bytes) -> tuple[int, float] | None:
    """Return the number that was sent, and the milliseconds that the reflector took, or None if this is no answer."""
    if len(packet) < SIZE:
        return None
    _, gone, gone_fraction, _, came, came_fraction, number, *_ = _REFLECTOR.unpack_from(packet)
    took = ((gone - came) % 2**32) + (gone_fraction - came_fraction) / 2**32
    return number, took * 1000 if 0 <= took < 60 else 0.0


class Stamp:
    """Sends from one address. Raises OSError if the address is not this machine's."""

    method: Method = "udp"

    def __init__(self, vtep: str, port: int = PORT) -> None:
        self._port = port
        self._socket = clocks.stamped(socket.SOCK_DGRAM, 0, (vtep, 0))
        self._waiting = Waiting(2**32)
        asyncio.get_running_loop().add_reader(self._socket, self._read)

    def close(self) -> None:
        """Close the socket."""
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

    async def round_trip(self, address: str, seconds: float) -> float | None:
        """Return the round trip in milliseconds, without the time in the other end's program, or None if no answer came
        in time."""
        number, asked = self._waiting.ask(address)
        with suppress(OSError):  # no route, or a packet filter of this machine
            self._socket.sendto(request(number, asked.sent.real), (address, self._port))
        return await self._waiting.wait(number, seconds)

    def _read(self) -> None:
        for _ in range(clocks.AT_ONCE):
            try:
                data, ancillary, _, (address, port) = self._socket.recvmsg(2048, clocks.ROOM)
            except OSError:
                return
            if port == self._port and (found := answer(data)) is not None:
                self._waiting.answered(found[0], address, clocks.arrival(ancillary), found[1])


class Reflector:
    """Answers `known` addresses, on one address. Raises OSError if the address cannot be used."""

    def __init__(self, vtep: str, known: Callable[[], Container[str]], port: int = PORT) -> None:
        self._known, self._port = known, port
        self._pace = Pace(burst=BURST, rate=RATE)
        self._socket = clocks.stamped(socket.SOCK_DGRAM, 0, (vtep, port))
        self._socket.setsockopt(socket.IPPROTO_IP, _IP_RECVTTL, 1)
        asyncio.get_running_loop().add_reader(self._socket, self._read)

    def close(self) -> None:
        """Close the socket."""
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

    def _read(self) -> None:
        for _ in range(clocks.AT_ONCE):
            try:
                data, ancillary, _, (address, port) = self._socket.recvmsg(2048, clocks.ROOM)
            except OSError:
                return
            if port == self._port or address not in self._known():
                continue
            if not self._pace.allows(address.encode(), time.monotonic()):
                continue
            ttl = next((d[0] for level, kind, d in ancillary if (level, kind) == (socket.IPPROTO_IP, _IP_TTL)), 0)
            came = clocks.arrival(ancillary)
            if (packet := reply(data, came.real, time.time(), ttl)) is not None:
                with suppress(OSError):
                    self._socket.sendto(packet, (address, port))
