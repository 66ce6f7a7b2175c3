"""A server that answers every request with an empty JSON object."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


@asynccontextmanager
async def answering(address: str, context: ssl.SSLContext) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Yield the server's port, and the heads of the requests that it has received so far."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                heard.append(head)
                writer.write(ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, address, 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1], heard
