"""The check whether a service answers, against servers on this host."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from agents.hypervisors.hypervisor import HypervisorError
from agents.moves import service_check
from agents.moves.service_check import answers


@asynccontextmanager
async def serving(answer: bytes | None = b"") -> AsyncIterator[tuple[int, list[bytes]]]:
    """Serve on a port of 127.0.0.1; yield it with the requests. None: never answer; empty: close at once."""
    asked: list[bytes] = []
    tasks: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.current_task())
        if answer:
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
        elif answer is None:
            await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], asked
        await asyncio.sleep(0.01)
        await asyncio.gather(*(task for task in tasks if task is not None))


async def test_a_port_that_takes_connections() -> None:
    async with serving() as (port, _):
        await answers(f"tcp:{port}", "127.0.0.1", "lo")


async def test_a_port_that_refuses() -> None:
    async with serving() as (port, _):
        pass
    with pytest.raises(HypervisorError, match=f"127.0.0.1 port {port}: .*refused"):
        await answers(f"tcp:{port}", "127.0.0.1", "lo")


async def test_a_lan_that_is_not_there() -> None:
    with pytest.raises(HypervisorError, match="No such device"):
        await answers("tcp:1", "127.0.0.1", "weft-nowhere")


@pytest.mark.parametrize("status", [200, 204, 302])
async def test_a_page_that_is_there(status: int) -> None:
    async with serving(f"HTTP/1.1 {status} Fine\r\n\r\n".encode()) as (port, asked):
        await answers(f"http:{port}/ready?all=1", "127.0.0.1", "lo")
    assert asked[0].startswith(b"GET /ready?all=1 HTTP/1.0\r\nHost: 127.0.0.1\r\n")


async def test_the_path_is_the_root_if_there_is_none() -> None:
    async with serving(b"HTTP/1.1 200 OK\r\n\r\n") as (port, asked):
        await answers(f"http:{port}", "127.0.0.1", "lo")
    assert asked[0].startswith(b"GET / HTTP/1.0\r\n")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 503 Not yet\r\n\r\n", "answers to /ready with 503"),
        (b"HTTP/1.1 404 None\r\n\r\n", "answers to /ready with 404"),
        (b"SSH-2.0-OpenSSH\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 OK\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200" * 500, "does not speak HTTP"),
    ],
)
async def test_other_answers(answer: bytes, reason: str) -> None:
    async with serving(answer) as (port, _):
        with pytest.raises(HypervisorError, match=reason):
            await answers(f"http:{port}/ready", "127.0.0.1", "lo")


async def test_a_server_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_check, "_ONE", 0.05)
    async with serving(None) as (port, _):
        with pytest.raises(HypervisorError, match=f"127.0.0.1 port {port} does not answer"):
            await answers(f"http:{port}/", "127.0.0.1", "lo")
