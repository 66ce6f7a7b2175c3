"""Connections that arrive together are all served. A closed one uses no memory: it is freed at once, and does not wait
for the cyclic garbage collector, which rarely examines old objects (`controller.server.serving.COLLECT`)."""

import asyncio
import gc
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controller.core.clock import now
from controller.server.connections import _Connection
from controller.trust import ceremony
from lab.patience import eventually
from tests.tiers import smoke_first
from tests.unit.controller.listening import BEARER, Listen, Listening

TIMES = 4
GET = "GET /api/v1/agent/desired HTTP/1.1\r\nHost: c\r\n"
ENDS: dict[str, tuple[bool, str | bytes, str]] = {
    "garbage for a handshake": (False, "hello", ""),
    "half a handshake": (False, b"\x16\x03\x01\x02\x00\x01", ""),
    "nothing": (False, "", ""),
    "a handshake and nothing": (True, "", "408"),
    "no HTTP": (True, "\x00\r\n\r\n", "400"),
    "half a head": (True, GET, "408"),
    "half a body": (True, "POST /api/v1/agent/report HTTP/1.1\r\nHost: c\r\nContent-Length: 9\r\n\r\n{", "408"),
    "a request that is answered": (True, "GET /healthz HTTP/1.1\r\nHost: c\r\n\r\n", "200"),
    "two in a row": (True, "GET /healthz HTTP/1.1\r\nHost: c\r\n\r\n" * 2, "200"),
    "a request that is refused": (True, GET + "\r\n", "401"),
    "an unknown path": (True, "GET /nowhere HTTP/1.1\r\nHost: c\r\n\r\n", "404"),
    "a stream": (True, f"GET /api/v1/events HTTP/1.1\r\nHost: c\r\nAccept: text/event-stream\r\n{BEARER}\r\n", "200"),
}
"""Ways in which a connection may end: whether there is TLS, the octets that are sent, and the status of the answer, if
there is one."""


@asynccontextmanager
async def serving(listen: Listen, path: Path, seconds: float = 5.0) -> AsyncIterator[Listening]:
    """Yield a controller that waits for the rest of a request for so many seconds."""
    ceremony.init(path / "authority", "test", now())
    async with listen(authority=path / "authority", agent_listen="127.0.0.1:0", request_seconds=seconds) as controller:
        yield controller


def speak(port: int, secure: bool, text: str | bytes) -> str:
    """Send a text, receive the first answer, and close without notice. Returns the status of the answer."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="controller") if secure else plain as spoken,
    ):
        try:
            spoken.sendall(text.encode() if isinstance(text, str) else text)
            heard = spoken.recv(4096)
        except ConnectionError:
            return ""
    return heard[9:12].decode() if heard.startswith(b"HTTP/1.1 ") else ""


def alive() -> list[str]:
    return [type(one).__name__ for one in gc.get_objects() if isinstance(one, SSLProtocol | _Connection)]


async def test_an_open_one_costs_little(listen: Listen, tmp_path: Path, without_collector: None) -> None:
    """With asyncio's defaults a connection would keep 256 KiB."""
    async with serving(listen, tmp_path, 0.5) as controller:
        assert controller.tls
        speaking = asyncio.create_task(asyncio.to_thread(speak, controller.tls, True, GET))
        await eventually(lambda: "SSLProtocol" in alive())
        secure = [one for one in gc.get_objects() if isinstance(one, SSLProtocol)]
        assert [len(kept) for one in secure for kept in vars(one).values() if isinstance(kept, bytearray)] == [32 << 10]
        await speaking


@pytest.mark.parametrize("how", smoke_first(4, ENDS))
async def test_however_it_ends_it_is_freed(listen: Listen, tmp_path: Path, how: str, without_collector: None) -> None:
    secure, text, status = ENDS[how]
    async with serving(listen, tmp_path, 0.5 if status in ("", "408") else 5.0) as controller:
        assert controller.tls
        for _ in range(TIMES):
            assert await asyncio.to_thread(speak, controller.tls, secure, text) == status
        await eventually(lambda: not alive())


def hello() -> bytes:
    """Return the first octets of a client's handshake."""
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="controller")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


async def test_handshakes_that_arrive_together_are_all_answered(listen: Listen, tmp_path: Path) -> None:
    """On Debian 12's Python a handshake that waited for the turns of others hung."""
    async with serving(listen, tmp_path) as controller:
        assert controller.tls
        sockets = [socket.create_connection(("127.0.0.1", controller.tls), timeout=5) for _ in range(40)]
        for each in sockets:
            each.sendall(hello())  # the controller has accepted none yet: this test has its event loop
        heard = await asyncio.gather(*(asyncio.to_thread(each.recv, 4096) for each in sockets))
        for each in sockets:
            each.close()
    assert [first[:1] for first in heard] == [b"\x16"] * 40
