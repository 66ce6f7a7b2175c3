"""A controller that listens on ports of its own, with all its middleware and limits."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from controller.core.intent import Cloudlet, CloudletState
from controller.core.tokens import digest
from controller.region import Region
from controller.server import sockets
from controller.server.app import create_app
from controller.server.serving import limits, server
from controller.settings import Settings
from controller.wire.flavours import Flavour

ADMIN = "an-admin-token-for-tests"

PLAIN = httpx.create_ssl_context(verify=False)
"""A TLS context for clients that speak HTTP without TLS; they save 60 ms as they load no trusted certificates."""

BEARER = f"Authorization: Bearer {ADMIN}\r\n"
OPERATOR = {"Authorization": f"Bearer {ADMIN}"}
AGENT = {"Authorization": "Bearer the-credential-of-c1"}
JSON = {"Content-Type": "application/json"}


@dataclass
class Listening:
    """A listening controller and its inner state. `tls` is the port for agents, if there is one."""

    port: int
    tls: int | None
    region: Region
    http: httpx.AsyncClient

    async def raw(self, *pieces: bytes | str, pause: float = 0.0, port: int | None = None) -> str:
        """Send these bytes; return the whole answer until the connection is closed."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port or self.port)
        try:
            for piece in pieces:
                writer.write(piece if isinstance(piece, bytes) else piece.encode())
                await writer.drain()
                await asyncio.sleep(pause)
            return (await reader.read()).decode()
        except ConnectionError:
            return ""
        finally:
            writer.close()


Listen = Callable[..., AbstractAsyncContextManager[Listening]]


@pytest.fixture
def listen(tmp_path: Path, migrated: Path) -> Listen:
    shutil.copy(migrated, tmp_path / "weft.db")
    (tmp_path / "admin").write_text(ADMIN)

    @asynccontextmanager
    async def listening(**options: Any) -> AsyncIterator[Listening]:
        url = f"sqlite+aiosqlite:///{tmp_path}/weft.db"
        settings = Settings(database_url=url, admin_token_file=tmp_path / "admin", listen="127.0.0.1:0", **options)
        opened, app = sockets.opened(settings), create_app(settings)
        ports = [one.getsockname()[1] for one in opened]
        async with app.router.lifespan_context(app):
            region: Region = app.state.region
            connections = limits(settings)
            listeners = (None, region.identity.listener)[: len(opened)]
            servers = [server(app, connections, listener) for listener in listeners]
            tasks = [asyncio.create_task(s.serve(sockets=[sock])) for s, sock in zip(servers, opened, strict=True)]
            cloudlet = Cloudlet("c1", Flavour.VPLS, "192.0.2.1", CloudletState.ACTIVE, digest("the-credential-of-c1"))
            await region.changes.flow.make(lambda intent: intent.with_cloudlet(cloudlet), "test")
            async with httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{ports[0]}", timeout=20, trust_env=False, verify=PLAIN
            ) as http:
                try:
                    yield Listening(ports[0], ports[1] if ports[1:] else None, region, http)
                finally:
                    region.stop()
                    for each in servers:
                        each.should_exit = True
                    await asyncio.gather(*tasks)

    return listening
