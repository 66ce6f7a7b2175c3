"""A controller with the UI that `make ui` has built, and a browser."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from controller.server import serving
from controller.server.certificate_files import CertificateFiles
from controller.server.pages import Pages
from controller.server.sockets import opened
from controller.server.ui import Ui
from tests.ui.browsing import browsing, sign_in, visiting
from tests.ui.region import ShownRouteServer, fill
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.conftest import database_url as database_url
from tests.unit.controller.conftest import migrated as migrated
from tests.unit.controller.conftest import start as start
from tests.unit.controller.fake_routeserver import served
from tests.unit.trust.requests import self_signed


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with browsing() as found:
        yield found


@dataclass
class Window:
    """A controller with the UI at `url`, and the region's route server."""

    controller: Controller
    server: ShownRouteServer
    url: str
    browser: Browser

    async def token(self, role: str, **more: Any) -> str:
        name = f"{role}-of-tests"
        made = await self.controller.post("/tokens", {"name": name, "role": role, **more})
        return str(made["token"])

    @asynccontextmanager
    async def user(self, role: str = "admin", path: str = "/", **options: Any) -> AsyncIterator[Page]:
        """Yield a page of a user who has signed in."""
        token = await self.token(role, **({"tenant": "acme"} if role == "tenant" else {}))
        async with visiting(self.browser, self.url, **options) as page:
            await sign_in(page, token, path)
            yield page


Open = Callable[..., AbstractAsyncContextManager[Window]]


@pytest.fixture
def open_window(tmp_path: Path, start: Start, browser: Browser) -> Open:
    certificate, key = tmp_path / "ui.pem", tmp_path / "ui-key.pem"
    self_signed(certificate, key)
    pages = Pages.built()

    @asynccontextmanager
    async def opening(
        *, port: int = 0, filled: bool = True, server: ShownRouteServer | None = None, **options: Any
    ) -> AsyncIterator[Window]:
        ui = {"ui_listen": f"127.0.0.1:{port}", "ui_certificate": certificate, "ui_key": key}
        async with AsyncExitStack() as stack:
            if server is None:
                server = await stack.enter_async_context(served(ShownRouteServer("rs1")))
            controller = await stack.enter_async_context(start(server, **(ui | options)))
            settings = controller.region.settings
            plain, sock = opened(settings.model_copy(update={"listen": "127.0.0.1:0"}))
            plain.close()
            app = Ui(controller.app, pages)
            running = serving.server(app, serving.limits(settings), CertificateFiles(certificate, key))
            task = asyncio.create_task(running.serve(sockets=[sock]))
            try:
                if filled:
                    await fill(controller, server)
                yield Window(controller, server, f"https://127.0.0.1:{sock.getsockname()[1]}", browser)
            finally:
                controller.region.stop()
                running.should_exit = True
                await task
                sock.close()

    return opening


@pytest.fixture
async def window(open_window: Open) -> AsyncIterator[Window]:
    async with open_window() as found:
        yield found
