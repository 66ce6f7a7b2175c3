"""A controller in a process of its own, killed while a page is open: the page and the session go on when it is back."""

import signal
import socket
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.ui.browsing import sign_in, visiting
from tests.unit.controller.test_main import process
from tests.unit.trust.requests import self_signed

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def test_a_page_outlives_its_controller(tmp_path: Path, browser: Browser) -> None:
    certificate, key, port = tmp_path / "ui.pem", tmp_path / "ui-key.pem", free_port()
    self_signed(certificate, key)
    files = {"WEFT_UI_CERTIFICATE": str(certificate), "WEFT_UI_KEY": str(key)}
    environment = files | {"WEFT_UI_LISTEN": f"127.0.0.1:{port}"}
    async with process(tmp_path, **environment) as first, visiting(browser, f"https://127.0.0.1:{port}") as page:
        assert f"127.0.0.1:{port}" in first.line
        made = await first.http.post("/api/v1/tokens", json={"name": "ana", "role": "viewer"})
        await first.http.post("/api/v1/vcps", json={"name": "blue"})
        await sign_in(page, made.json()["token"], "/pools")
        await expect(page.get_by_role("link", name="blue")).to_be_visible()
        await expect(page.get_by_text("live", exact=True)).to_be_visible()
        await first.end(signal.SIGKILL)
        await expect(page.get_by_text("The controller is away; trying again.")).to_be_visible()
        async with process(tmp_path, **environment) as second:
            await second.http.post("/api/v1/vcps", json={"name": "red"})
            await expect(page.get_by_role("link", name="red")).to_be_visible(timeout=20_000)
            await expect(page.get_by_text("The controller is away; trying again.")).to_have_count(0)
            await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
