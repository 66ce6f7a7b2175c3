"""ICMP echo (RFC 792) over a raw socket, which the agent may open as root. Identifier, number and a few random bytes
tell answers apart, because a raw socket receives the answers to everybody's pings."""

import asyncio
import secrets
import socket
import struct
from contextlib import suppress

from agents.neighbours import clocks
from agents.neighbours.waiting import Waiting
from controller.wire.neighbours import Method

ECHO, ECHO_REPLY = 8, 0
_SOL_RAW, _ICMP_FILTER = 255, 1
_HEADER = struct.Struct("!BBHHH")
SECRET = 16
PADDING = 24
"""With these two an echo is as long as ping's: 64 bytes and the IP header."""


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Icmp:
    """Echoes from one address. Raises OSError if the address is not this machine's, or raw sockets are not allowed."""

    method: Method = "icmp"

    def __init__(self, vtep: str) -> None:
        self._socket = clocks.stamped(socket.SOCK_RAW, socket.IPPROTO_ICMP, (vtep, 0))
        self._socket.setsockopt(_SOL_RAW, _ICMP_FILTER, struct.pack("@I", ~(1 << ECHO_REPLY) & 0xFFFFFFFF))
        self._identifier, self._secret = secrets.randbits(16), secrets.token_bytes(SECRET)
        self._waiting = Waiting(2**16)
        asyncio.get_running_loop().add_reader(self._socket, self._read)

    def close(self) -> None:
        """Close the socket. A call that waits goes on until its time is over."""
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

    async def round_trip(self, address: str, seconds: float) -> float | None:
        """Return the round trip in milliseconds, or None if no answer came in time."""
        number, _ = self._waiting.ask(address)
        with suppress(OSError):  # no route, or a packet filter of this machine
            self._socket.sendto(self._request(number), (address, 0))
        return await self._waiting.wait(number, seconds)

    def _request(self, number: int) -> bytes:
        payload = self._secret + b"\0" * (PADDING + 16)
        bare = _HEADER.pack(ECHO, 0, 0, self._identifier, number) + payload
        return _HEADER.pack(ECHO, 0, checksum(bare), self._identifier, number) + payload

    def _read(self) -> None:
        for _ in range(clocks.AT_ONCE):
            try:
                data, ancillary, _, (address, _) = self._socket.recvmsg(2048, clocks.ROOM)
            except OSError:
                return
            came = clocks.arrival(ancillary)
            message = data[(data[0] & 0x0F) * 4 :]
            if len(message) < _HEADER.size + SECRET:
                continue
            kind, _, _, identifier, number = _HEADER.unpack_from(message)
            if (
                kind == ECHO_REPLY
                and identifier == self._identifier
                and message[_HEADER.size :].startswith(self._secret)
            ):
                self._waiting.answered(number, address, came)
