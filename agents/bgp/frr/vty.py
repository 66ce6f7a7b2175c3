"""Sends a command to an FRR daemon over its vty socket, as vtysh does, without a process.

The protocol: a command ends with a zero byte; the reply is text followed by three zero bytes and a status byte (FRR
lib/vty.c, vtysh/vtysh.c).
"""

import asyncio
from pathlib import Path

_SUCCESS = 0
_TIMEOUT = 5.0
_MAX_REPLY = 2**24  # bytes


class VtyError(Exception):
    """The daemon is not there, or refused a command. The text is for users."""


async def ask(socket: Path, *commands: str) -> str:
    """Run `commands` in one vty session in enable mode and return the last one's reply.

    Raises VtyError when nobody listens on `socket`, when the daemon hangs, and when it refuses a command.
    """
    try:
        async with asyncio.timeout(_TIMEOUT):
            reader, writer = await asyncio.open_unix_connection(str(socket), limit=_MAX_REPLY)
            try:
                reply = ""
                for command in ("enable", *commands):
                    reply = await _one(reader, writer, socket, command)
                return reply
            finally:
                writer.close()
    except TimeoutError:
        raise VtyError(f"{socket}: no answer within {_TIMEOUT:g} s") from None
    except OSError as error:
        raise VtyError(f"{socket}: {error.strerror or error}; is {socket.stem} running?") from None


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, socket: Path, command: str) -> str:
    writer.write(command.encode() + b"\0")
    await writer.drain()
    try:
        text = await reader.readuntil(b"\0\0\0")
        status = (await reader.readexactly(1))[0]
    except asyncio.IncompleteReadError:
        raise VtyError(f"{socket}: closed while answering {command!r}") from None
    except asyncio.LimitOverrunError:
        raise VtyError(f"{socket}: more than {_MAX_REPLY} bytes in answer to {command!r}") from None
    reply = text[:-3].decode(errors="replace")
    if status != _SUCCESS:
        raise VtyError(f"{socket}: {command!r} refused: {reply.strip() or f'status {status}'}")
    return reply
