"""The vty protocol, with the test's own server: each error of a daemon has a message of its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agents.bgp.frr import vty
from agents.bgp.frr.vty import VtyError, ask

Answer = Callable[[bytes], bytes]


@asynccontextmanager
async def daemon(path: Path, answer: Answer) -> AsyncIterator[list[bytes]]:
    """Listen on `path` and answer each command; the yielded list has the commands."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                command = (await reader.readuntil(b"\0"))[:-1]
                asked.append(command)
                reply = answer(command)
                writer.write(reply)
                if not reply:
                    return
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_unix_server(serve, str(path))
    try:
        yield asked
    finally:
        server.close()


async def test_the_last_reply_is_returned(tmp_path: Path) -> None:
    async with daemon(tmp_path / "bgpd.vty", lambda command: command.upper() + b"\0\0\0\0") as asked:
        assert await ask(tmp_path / "bgpd.vty", "show one", "show two") == "SHOW TWO"
    assert asked == [b"enable", b"show one", b"show two"]


async def test_long_replies_come_whole(tmp_path: Path) -> None:
    async with daemon(tmp_path / "bgpd.vty", lambda command: b"x" * 1_000_000 + b"\0\0\0\0"):
        assert len(await ask(tmp_path / "bgpd.vty", "show")) == 1_000_000


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda command: b"no such thing\n\0\0\0\2", "'enable' refused: no such thing"),
        (lambda command: b"\0\0\0\1", "'enable' refused: status 1"),
        (lambda command: b"", "closed while answering 'enable'"),
    ],
)
async def test_what_goes_wrong_has_a_sentence(tmp_path: Path, answer: Answer, complaint: str) -> None:
    async with daemon(tmp_path / "bgpd.vty", answer):
        with pytest.raises(VtyError, match=f"bgpd.vty: {complaint}"):
            await ask(tmp_path / "bgpd.vty", "show")


async def test_a_daemon_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vty, "_TIMEOUT", 0.01)
    async with daemon(tmp_path / "bgpd.vty", lambda command: b"still thinking"):
        with pytest.raises(VtyError, match=r"no answer within 0.01 s"):
            await ask(tmp_path / "bgpd.vty", "show")


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.touch()])
async def test_nobody_there(tmp_path: Path, make: Callable[[Path], Awaitable[None] | None]) -> None:
    make(tmp_path / "bgpd.vty")
    with pytest.raises(VtyError, match=r"is bgpd running\?"):
        await ask(tmp_path / "bgpd.vty", "show")
