"""The last resort where neither ICMP nor UDP gets through: how long a TCP connection takes to be accepted or refused.
BGP's port suits this, because a PE's packet filter knows it."""

import asyncio
import socket
import struct
import time

from agents.kernel.snapshot import BGP_PORT
from controller.wire.neighbours import Method


class Tcp:
    """Connects from one address. The kernel gives no timestamps here, so a busy event loop shows in the result."""

    method: Method = "tcp"

    def __init__(self, vtep: str, port: int = BGP_PORT) -> None:
        self._vtep, self._port = vtep, port

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    async def round_trip(self, address: str, seconds: float) -> float | None:
        """Return the milliseconds until the connection was accepted or refused, or None if neither happened in time."""
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
            connection.setblocking(False)
            # Ends with RST: neither side keeps anything of a connection that was only asked for.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            try:
                connection.bind((self._vtep, 0))
                started = time.monotonic()
                async with asyncio.timeout(seconds):
                    await asyncio.get_running_loop().sock_connect(connection, (address, self._port))
            except ConnectionRefusedError:
                pass
            except (OSError, TimeoutError):
                return None
            return (time.monotonic() - started) * 1000
