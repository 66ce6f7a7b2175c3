"""The last resort where neither ICMP nor UDP comes through: how long a TCP connection takes to be accepted or refused.
BGP's port is a good one to ask: a PE's packet filter knows it."""

import asyncio
import socket
import struct
import time

from agents.kernel.snapshot import BGP_PORT
from controller.wire.neighbours import Method


class Tcp:
    """From one address. There is no timestamp of the kernel's: a busy event loop shows in the result."""

    method: Method = "tcp"

    def __init__(self, vtep: str, port: int = BGP_PORT) -> None:
        self._vtep, self._port = vtep, port

    def close(self) -> None:
        """There is nothing to end."""

    async def round_trip(self, address: str, seconds: float) -> float | None:
        """Milliseconds until somebody said yes or no; None if nobody did in time."""
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
