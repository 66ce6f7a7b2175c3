"""The page shows events without reloading, also after the controller was away."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from tests.ui.browsing import sign_in, visiting
from tests.ui.conftest import Open, Window
from tests.ui.region import many, routes

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]


async def test_a_join_is_seen_in_all_tabs(window: Window) -> None:
    async with window.user("viewer", "/pools/blue") as page:
        second = await page.context.new_page()
        await second.goto("/pools/blue")
        for tab in (page, second):
            await expect(tab.get_by_text("live", exact=True)).to_be_visible()
        await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"})
        for tab in (page, second):
            await expect(tab.get_by_role("heading", level=2, name="Members (3)")).to_be_visible()
        await page.close()  # it had the connection; the other tab goes on
        await expect(second.get_by_text("live", exact=True)).to_be_visible()
        await window.controller.delete("/vcps/blue/members/c3-lan")
        await expect(second.get_by_role("heading", level=2, name="Members (2)")).to_be_visible()


async def test_a_change_on_trial_has_a_banner(window: Window) -> None:
    async with window.user("network-engineer", "/cloudlets") as page:
        await expect(page.get_by_text("live", exact=True)).to_be_visible()
        await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"}, confirm_within=600)
        await expect(page.get_by_role("timer")).to_contain_text("left")
        await page.get_by_role("button", name="Roll back").click()
        await expect(page.get_by_role("timer")).to_have_count(0)
        assert (await window.controller.get("/vcps/blue"))["members"] == ["c1-lan", "c2-lan"]
        await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"}, confirm_within=600)
        await page.get_by_role("button", name="Confirm").click()
        await expect(page.get_by_role("timer")).to_have_count(0)
    assert "c3-lan" in (await window.controller.get("/vcps/blue"))["members"]


async def test_the_controller_goes_away_and_comes_back(open_window: Open) -> None:
    """The page keeps its content, says that it is old, tries again by itself, and shows what it has missed."""
    async with open_window() as first:
        port, token = int(first.url.rpartition(":")[2]), await first.token("viewer")
        visit = visiting(first.browser, first.url)
        page = await visit.__aenter__()
        await sign_in(page, token, "/pools/blue")
        await expect(page.get_by_role("heading", level=2, name="Members (2)")).to_be_visible()
    try:
        await expect(page.get_by_text("The controller is away; trying again.")).to_be_visible()
        await expect(page.get_by_role("heading", level=2, name="Members (2)")).to_be_visible()
        async with open_window(port=port, filled=False) as second:
            await second.controller.delete("/vcps/blue/members/c2-lan")
            await expect(page.get_by_text("The controller is away; trying again.")).to_have_count(0, timeout=20_000)
            await expect(page.get_by_role("heading", level=2, name="Members (1)")).to_be_visible()
            await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    finally:
        await visit.__aexit__(None, None, None)


async def test_a_page_that_is_loaded_while_the_controller_is_away(open_window: Open) -> None:
    """The frame is in the browser's cache or it is not; a page that asks in vain says so, and goes on by itself."""
    async with open_window() as window, window.user("viewer") as page:
        await page.route("**/api/v1/**", lambda route: route.abort())
        await page.get_by_role("navigation").get_by_role("link", name="Cloudlets").click()
        await expect(page.get_by_role("alert").first).to_contain_text("The controller does not answer.")
        await page.unroute("**/api/v1/**")
        await page.get_by_role("button", name="Try again").first.click()
        await expect(page.get_by_role("link", name="c1", exact=True)).to_be_visible()


async def test_a_session_that_ends_asks_for_a_new_sign_in_and_keeps_the_address(window: Window) -> None:
    async with window.user("viewer", "/cloudlets/c1") as page:
        await expect(page.get_by_text("live", exact=True)).to_be_visible()
        await window.controller.delete("/tokens/viewer-of-tests", 204)
        await expect(page.get_by_text("The session is over.")).to_be_visible()
        assert page.url.endswith("/cloudlets/c1")
        made = await window.controller.post("/tokens", {"name": "next", "role": "viewer"})
        await page.get_by_label("API token").fill(made["token"])
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("c1")


async def test_a_token_that_is_not_good_is_named(window: Window) -> None:
    async with visiting(window.browser, window.url) as page:
        await page.goto("/")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("Paste the token here.")
        await page.get_by_label("API token").fill("wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("The token is missing, wrong, expired or revoked.")
        await expect(page.get_by_role("alert")).to_contain_text("Sign in again.")


async def test_long_lists_have_few_rows_in_the_document(window: Window) -> None:
    await many(window.controller, 300)
    async with window.user("viewer", "/cloudlets") as page:
        table = page.get_by_role("table", name="Cloudlets")
        await expect(table).to_have_attribute("aria-rowcount", "304")
        rows = table.locator("[data-index]")
        assert 10 < await rows.count() < 80
        await page.get_by_role("link", name="c1", exact=True).focus()
        await page.keyboard.press("End")
        await expect(page.locator(":focus")).to_have_text("edge-0299")
        assert await rows.count() < 80
        await page.get_by_role("searchbox").fill("town-7 edge-02")
        await expect(page.get_by_text("3 of 303")).to_be_visible()
        await page.get_by_role("link", name="edge-0207").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("edge-0207")
        await page.go_back()
        await expect(page.get_by_role("searchbox")).to_have_value("town-7 edge-02")


async def test_routes_come_as_one_scrolls(window: Window) -> None:
    window.server.routes = routes(1700)
    async with window.user("viewer", "/routes") as page:
        await expect(page.get_by_text("500 routes so far")).to_be_visible()
        await page.get_by_role("cell").first.get_by_role("button").focus()
        for count in ("1,000 routes so far", "1,500 routes so far", "1,700 routes"):
            await page.keyboard.press("End")
            await expect(page.get_by_text(count)).to_be_visible()
        await page.get_by_label("Address or prefix").fill("10.1.0.9")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile(r"prefix=10\.1\.0\.9"))
        for _ in range(50):
            if window.server.asked.get("prefix") == "10.1.0.9/32":
                break
            await asyncio.sleep(0.05)
        assert window.server.asked["prefix"] == "10.1.0.9/32"
