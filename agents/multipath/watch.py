"""The agent's watch on the wire: it notes every join of one address, from its creation until it is closed."""

import asyncio
import socket
from collections.abc import Callable
from typing import Self

from agents.multipath.handshake import Handshakes, Joined
from agents.multipath.packet_socket import packet_socket
from agents.multipath.segment import Address, SegmentError, segment

_FRAME = 2048
_AT_ONCE = 64  # frames to read before other tasks run
_MOST = 1024  # joins that are remembered; the first ones decide


class Watch:
    """Subflows that join `address` from `peer` (None: from any address), seen on `device`. Create it in a running event
    loop. Raises OSError if the device cannot be watched."""

    def __init__(
        self,
        device: str,
        address: Address,
        peer: Address | None,
        open_: Callable[[str, Address], socket.socket] = packet_socket,
    ) -> None:
        self._handshakes = Handshakes(address, peer)
        self._joined: list[Joined] = []
        self._news = asyncio.Event()
        self._socket = open_(device, address)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._hear)

    @property
    def joined(self) -> tuple[Joined, ...]:
        """The subflows that joined, in the order in which they were complete."""
        return tuple(self._joined)

    @property
    def begun(self) -> int:
        """Number of handshakes that have begun and are not over."""
        return self._handshakes.begun

    async def wait(self) -> Joined:
        """Wait for the first subflow that joins, and return it; it may have joined already."""
        await self._news.wait()
        return self._joined[0]

    def close(self) -> None:
        """End the watch. Closing twice is no error."""
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _hear(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                frame = self._socket.recv(_FRAME)
            except BlockingIOError:
                return
            except OSError:  # the device is gone: nobody joins over it
                return
            try:
                joined = self._handshakes.see(segment(frame))
            except SegmentError:
                continue
            if joined is not None and len(self._joined) < _MOST:
                self._joined.append(joined)
                self._news.set()
