"""The check whether a service answers at a machine's address, tried from the cloudlet's own place on the LAN."""

import asyncio
import os
import socket

from agents.hypervisors.hypervisor import HypervisorError
from controller.wire.initiations import port, web_path

_ONE = 5.0  # seconds for one try
_LINE = 1000  # bytes of an answer's first line


async def answers(check: str, address: str, bridge: str) -> None:
    """Try the check once, over the LAN of that bridge. Raises HypervisorError with the reason if the service does not
    answer."""
    where = f"{address} port {port(check)}"
    try:
        async with asyncio.timeout(_ONE):
            await _try(check, address, bridge, where)
    except TimeoutError:
        raise HypervisorError(f"{where} does not answer") from None
    except OSError as error:
        raise HypervisorError(f"{where}: {os.strerror(error.errno) if error.errno else error}") from error


async def _try(check: str, address: str, bridge: str, where: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, bridge.encode())
        await asyncio.get_running_loop().sock_connect(door, (address, port(check)))
        if (path := web_path(check)) is not None:
            await _ask(door, path, where)


async def _ask(door: socket.socket, path: str, where: str) -> None:
    """Ask for a path by HTTP/1.0 (RFC 1945). Any status below 400 is an answer."""
    loop = asyncio.get_running_loop()
    host = where.split(" ", 1)[0]
    await loop.sock_sendall(door, f"GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    line = b""
    while b"\n" not in line and len(line) < _LINE and (more := await loop.sock_recv(door, _LINE)):
        line += more
    words = line.split(b"\n", 1)[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise HypervisorError(f"{where} does not speak HTTP")
    if int(words[1]) >= 400:
        raise HypervisorError(f"{where} answers to {path} with {int(words[1])}")
