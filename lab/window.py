"""`python -m lab.window HOST PORT FILE`: the way of this machine's browsers to the web UI of the lab's controller.

The process is in the controller's network namespace, and only its listening socket is in that of the lab's command that
starts it, on loopback. It passes bytes on, so TLS is between browser and controller. FILE gets the address.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import sys
import threading
from pathlib import Path

PORT = 8444
"""The first choice; if somebody has that port, the kernel chooses one."""

_CLONE_NEWNET = 0x40000000
_CHUNK = 1 << 16


def listener(namespace: Path) -> socket.socket:
    """Return a socket that listens on loopback in a network namespace. Raises OSError."""
    made: list[socket.socket | OSError] = []

    def work() -> None:
        try:
            with namespace.open() as file:
                if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            try:
                made.append(socket.create_server(("127.0.0.1", PORT)))
            except OSError:
                made.append(socket.create_server(("127.0.0.1", 0)))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=work)  # a thread of its own, so that the others stay where they are
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


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
