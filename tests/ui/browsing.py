"""A browser, and pages that say what went wrong in them."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright

from tests.house.imports import ROOT

AXE = ROOT / "build/npm/node_modules/axe-core/axe.min.js"

LACKS = "Chromium is not installed: `apt-get install chromium` (lab/provision does that), or name one by WEFT_CHROMIUM"

EXPECTED = (
    "Failed to load resource",  # of answers that a test wants to be errors; the controller being away is one
    "net::ERR_",
)


def chromium() -> str | None:
    """Return the path of Debian's Chromium, or of the one that the environment names."""
    return os.environ.get("WEFT_CHROMIUM") or shutil.which("chromium")


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """Yield a browser without a window. Raises RuntimeError if there is none."""
    path = chromium()
    if path is None:
        raise RuntimeError(LACKS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path, args=["--disable-gpu", "--disable-dev-shm-usage"]
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def visiting(browser: Browser, url: str, expected: tuple[str, ...] = (), **options: Any) -> AsyncIterator[Page]:
    """Yield a page of a new user. Fails in the end if the page has thrown an error, or a policy has stopped it, unless
    the message has an `expected` word."""
    chosen: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **options}
    context = await browser.new_context(base_url=url, ignore_https_errors=True, **chosen)
    page = await context.new_page()
    page.set_default_timeout(10_000)
    wrong: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(word in message.text for word in (*EXPECTED, *expected)):
            wrong.append(message.text)

    page.on("console", said)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    try:
        yield page
    finally:
        await context.close()
    assert not wrong, wrong


async def sign_in(page: Page, token: str, path: str = "/") -> None:
    """Sign in as a user does, at a page of the UI."""
    await page.goto(path)
    await page.get_by_label("API token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Sign out").wait_for()


async def findings(page: Page) -> list[str]:
    """Return axe's findings about the page as it is now."""
    await page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => 0)))")
    await page.evaluate(AXE.read_text())
    found = await page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['id']}: {one['help']}: "
        + "; ".join(f"{node['html'][:200]} ({node.get('failureSummary', '')[:300]})" for node in one["nodes"][:3])
        for one in found["violations"]
    ]


def screenshots() -> Path | None:
    """Return where tests put pictures of the pages that they visit; None without WEFT_SCREENSHOTS."""
    folder = os.environ.get("WEFT_SCREENSHOTS")
    return Path(folder) if folder else None
