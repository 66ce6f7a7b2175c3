"""`python -m lab.window HOST PORT FILE`: the way of this machine's browsers to the web UI of the lab's controller.

The process is in the controller's network namespace, and only its listening socket is in that of the lab's command that
starts it, on loopback. It passes bytes on, so TLS is between browser and controller. FILE gets the address.
"""

import asyncio
import contextlib
import os
import socket
import sys
from pathlib import Path

from lab.thread_netns import within

PORT = 8444
"""The first choice; if somebody has that port, the kernel chooses one."""

_CHUNK = 1 << 16


def listener(namespace: Path) -> socket.socket:
    """Return a socket that listens on loopback in a network namespace. Raises OSError."""

    def listening() -> socket.socket:
        try:
            return socket.create_server(("127.0.0.1", PORT))
        except OSError:
            return socket.create_server(("127.0.0.1", 0))

    return within(namespace, listening)


async def serve(listening: socket.socket, host: str, port: int) -> None:
    """Pass on what comes, and what comes back, until the task is cancelled."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(host, port)
            with contextlib.closing(far_writer):
                await asyncio.gather(_pass(reader, far_writer), _pass(far_reader, writer))

    async with await asyncio.start_server(connected, sock=listening) as server:
        await server.serve_forever()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


def main() -> None:
    """Listen, say where, and pass bytes on until a signal ends this."""
    host, port, file = sys.argv[1:]
    listening = listener(Path(f"/proc/{os.getppid()}/ns/net"))
    said = Path(file)
    written = said.with_suffix(".new")
    written.write_text(f"https://127.0.0.1:{listening.getsockname()[1]}\n")
    written.replace(said)
    asyncio.run(serve(listening, host, int(port)))


if __name__ == "__main__":
    main()
