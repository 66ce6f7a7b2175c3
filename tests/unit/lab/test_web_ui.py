"""The way to the lab's web UI, and the settings for it."""

import asyncio
import contextlib
import socket
import ssl
from pathlib import Path

import pytest

from lab import web_ui, window


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.closing(writer):
        writer.write(b"<" + await reader.read() + b">")
        await writer.drain()


async def answer(port: int, said: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.closing(writer):
        writer.write(said)
        writer.write_eof()
        return await asyncio.wait_for(reader.read(), 10)


@pytest.fixture
def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


async def test_bytes_go_both_ways(listening: socket.socket) -> None:
    far = await asyncio.start_server(echo, "127.0.0.1", 0)
    passing = asyncio.create_task(window.serve(listening, *far.sockets[0].getsockname()))
    here = listening.getsockname()[1]
    said = bytes(range(256)) * 4096
    assert await answer(here, said) == b"<" + said + b">"
    assert await answer(here, b"again") == b"<again>"
    passing.cancel()
    far.close()


async def test_a_ui_that_is_away_ends_the_connection_and_nothing_else(listening: socket.socket) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gone = taken.getsockname()[1]
    passing = asyncio.create_task(window.serve(listening, "127.0.0.1", gone))
    for _ in range(2):
        assert await answer(listening.getsockname()[1], b"hello") == b""
    assert not passing.done()
    passing.cancel()


def test_a_taken_port_leads_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The namespace is this process's own, so that no privilege is needed to enter it (as root)."""
    own = Path("/proc/thread-self/ns/net")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(window, "PORT", taken.getsockname()[1])
        try:
            found = window.listener(own)
        except PermissionError:
            pytest.skip("only root enters a namespace")
        with found:
            assert found.getsockname()[0] == "127.0.0.1" and found.getsockname()[1] != window.PORT


def test_settings_need_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_ui, "BUILT", tmp_path / "index.html")
    assert web_ui.settings(tmp_path, "10.255.1.1") == {}
    (tmp_path / "index.html").touch()
    found = web_ui.settings(tmp_path, "10.255.1.1")
    assert found["WEFT_UI_LISTEN"] == "10.255.1.1:8444"
    certificate, key = (Path(found[f"WEFT_UI_{name}"]) for name in ("CERTIFICATE", "KEY"))
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    assert key.stat().st_mode & 0o077 == 0
    before = certificate.read_bytes()
    assert web_ui.settings(tmp_path, "10.255.1.1") == found and certificate.read_bytes() == before
