"""A controller with the UI's listener, and browsers of it: clients that keep cookies and send the headers that browsers
send by themselves."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from controller.server import serving
from controller.server.certificate_files import CertificateFiles
from controller.server.pages import Pages
from controller.server.sockets import opened
from controller.server.ui import Ui
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.trust.requests import self_signed

SAME = {"Sec-Fetch-Site": "same-origin"}
ANYBODY = httpx.create_ssl_context(verify=False)

FILES = {
    "index.html": "<!doctype html><title>Weft</title>" + " " * 600,
    "assets/main-12345678.js": "document.title = 'Weft';",
    "assets/mark-12345678.svg": "<svg/>",
    ".vite/manifest.json": "{}",
    "notes.txt": "not for browsers",
}


@dataclass
class UiSite:
    """A controller with its UI; `url` is that of the UI's listener."""

    controller: Controller
    url: str
    files: CertificateFiles

    @asynccontextmanager
    async def browser(self, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(
            base_url=self.url, headers=SAME | headers, verify=ANYBODY, trust_env=False, timeout=10
        ) as client:
            yield client

    async def token(self, name: str, role: str = "viewer", **more: Any) -> str:
        made = await self.controller.post("/tokens", {"name": name, "role": role, **more})
        return str(made["token"])


async def sign_in(browser: httpx.AsyncClient, token: str) -> httpx.Response:
    answer = await browser.post("/ui/session", json={"token": token})
    assert answer.status_code == 200, answer.text
    return answer


StartUi = Callable[..., AbstractAsyncContextManager[UiSite]]


def write_files(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def start_ui(tmp_path: Path, start: Start, route_server: FakeRouteServer) -> StartUi:
    certificate, key = tmp_path / "ui.pem", tmp_path / "ui-key.pem"
    self_signed(certificate, key)
    pages = Pages(write_files(tmp_path / "files"))

    @asynccontextmanager
    async def starting(**options: Any) -> AsyncIterator[UiSite]:
        ui = {"ui_listen": "127.0.0.1:0", "ui_certificate": certificate, "ui_key": key}
        async with start(route_server, **(ui | options)) as controller:
            settings = controller.region.settings
            plain, sock = opened(settings.model_copy(update={"listen": "127.0.0.1:0"}))
            plain.close()
            files = CertificateFiles(certificate, key)
            server = serving.server(Ui(controller.app, pages), serving.limits(settings), files)
            task = asyncio.create_task(server.serve(sockets=[sock]))
            try:
                yield UiSite(controller, f"https://127.0.0.1:{sock.getsockname()[1]}", files)
            finally:
                controller.region.stop()
                server.should_exit = True
                await task
                sock.close()

    return starting


@pytest.fixture
async def ui(start_ui: StartUi) -> AsyncIterator[UiSite]:
    async with start_ui() as site:
        yield site
