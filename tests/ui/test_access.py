"""Access: tokens with secrets that are shown once, consents of tenants, and what roles may do."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.ui.browsing import findings, sign_in, visiting
from tests.ui.conftest import Window

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]

POLICY = "apiVersion: weft/v1\nvcps:\n  blue: {members: [c1-lan, c2-lan]}\ntenants:\n  acme: {}\n"
KEPT = "() => JSON.stringify([location.href, history.state, {...localStorage}, {...sessionStorage}])"


async def make(page: Page, name: str) -> None:
    await page.get_by_role("button", name="Make a token …").click()
    await page.get_by_role("dialog").get_by_label("Name").fill(name)


async def test_a_secret_is_shown_once_and_kept_nowhere(window: Window) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    async with window.user("admin", "/access", permissions=allowed) as page:
        await make(page, "Dashboard!")
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Role").select_option("tenant")
        await dialog.get_by_label("Days").fill("1000")
        await dialog.get_by_role("button", name="Make it").click()
        await expect(dialog.get_by_role("alert")).to_have_count(3)
        assert await findings(page) == []
        await dialog.get_by_label("Name").fill("dashboard")
        await dialog.get_by_label("Role").select_option("viewer")
        await dialog.get_by_label("Days").fill("7")
        await dialog.get_by_role("button", name="Make it").click()
        await expect(dialog).to_contain_text("This is the only time that its secret is shown.")
        await expect(page.locator(":focus")).to_have_text("Copy")
        secret = await dialog.get_by_role("group", name="Secret").locator("pre").inner_text()
        await dialog.get_by_role("button", name="Copy").click()
        await expect(dialog).to_contain_text("Copied")
        assert await page.evaluate("navigator.clipboard.readText()") == secret
        assert await findings(page) == []
        assert secret not in await page.evaluate(KEPT)
        await dialog.get_by_role("button", name="I have it").click()
        await expect(dialog).to_have_count(0)
        row = page.get_by_role("row").filter(has_text="dashboard")
        await expect(row).to_contain_text("good")
        await expect(row).to_contain_text("in 7 days")
        assert secret not in await page.content()
        assert secret not in await page.evaluate(KEPT)
    async with visiting(window.browser, window.url) as page:
        await sign_in(page, secret, "/access?view=roles")
        await expect(page.get_by_role("main")).to_contain_text("You are token dashboard, with the role viewer.")


async def test_a_taken_name_is_refused_and_stays_written(window: Window) -> None:
    async with window.user("admin", "/access") as page:
        await make(page, "admin-of-tests")
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Make it").click()
        await expect(dialog.get_by_role("alert")).to_contain_text("a name is given once")
        await expect(dialog.get_by_label("Name")).to_have_value("admin-of-tests")


async def test_a_token_of_a_tenant_is_made_and_revoked(window: Window) -> None:
    async with window.user("admin", "/access") as page:
        await make(page, "acme-portal")
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Role").select_option("tenant")
        await dialog.get_by_label("Tenant").fill("acme")
        await page.keyboard.press("Enter")
        await dialog.get_by_role("button", name="I have it").click()
        row = page.get_by_role("row").filter(has_text="acme-portal")
        await expect(row).to_contain_text("acme")
        await row.get_by_role("button", name="Revoke … acme-portal").click()
        await expect(dialog).to_contain_text("It opens nothing from now on")
        assert await findings(page) == []
        await dialog.get_by_role("button", name="Revoke it").click()
        await expect(row).to_contain_text("revoked")
        await expect(row.get_by_role("button")).to_have_count(0)
        await page.get_by_label("State").select_option("revoked")
        await expect(page).to_have_url(re.compile("state=revoked"))
        await expect(page.get_by_role("table", name="Tokens").get_by_role("row")).to_have_count(2)


async def test_a_token_that_another_has_revoked_is_told(window: Window) -> None:
    await window.token("viewer")
    async with window.user("admin", "/access") as page:
        await page.get_by_role("button", name="Revoke … viewer-of-tests").click()
        await window.controller.delete("/tokens/viewer-of-tests", status=204)
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Revoke it").click()
        await expect(dialog.get_by_role("alert")).to_contain_text("token viewer-of-tests was revoked at")


async def test_to_revoke_one_s_own_token_ends_the_session(window: Window) -> None:
    async with window.user("admin", "/access") as page:
        await expect(page.get_by_role("row").filter(has_text="admin-of-tests")).to_contain_text("yours")
        await page.get_by_role("button", name="Revoke … admin-of-tests").click()
        await expect(page.get_by_role("dialog")).to_contain_text("your session ends with it")
        await page.get_by_role("dialog").get_by_role("button", name="Revoke it").click()
        await expect(page.get_by_label("API token")).to_be_visible()


async def test_tokens_are_for_admins_and_the_rest_is_for_all(window: Window) -> None:
    async with window.user("operator", "/access?view=tokens") as page:
        await expect(page.get_by_role("main")).to_contain_text("Tokens take the role admin.")
        await expect(page.get_by_role("button", name="Make a token …")).to_have_count(0)
        assert await findings(page) == []
        views = page.get_by_role("navigation", name="View")
        await expect(views.get_by_role("link")).to_have_text(["Consents", "Roles"])
        await views.get_by_role("link", name="Roles").click()
        await expect(page.get_by_role("row").filter(has_text="operator")).to_contain_text("(yours)")
        await page.goto("/access")
        await expect(page.get_by_text("No endpoint belongs to a tenant.")).to_be_visible()


async def test_consents_are_seen_as_they_are_given(window: Window) -> None:
    control = window.controller
    await control.post("/cloudlets", {"name": "c9", "pe": "vpls", "vtep": "192.0.2.9"})
    for name, tenant, prefix in (("acme-lan", "acme", "10.9.0.0/24"), ("beta-lan", "beta", "10.8.0.0/24")):
        await control.post("/endpoints", {"name": name, "cloudlet": "c9", "prefix": prefix, "tenant": tenant})
    headers = {"Content-Type": "application/yaml"}
    applied = await control.http.post("/api/v1/policy/apply?hold_back=true", content=POLICY, headers=headers)
    assert applied.status_code == 200, applied.text
    async with window.user("viewer", "/access?view=consents") as page:
        table = page.get_by_role("table", name="Consents")
        row = table.get_by_role("row").filter(has_text="acme-lan")
        await expect(row).to_contain_text("waits for the tenant")
        await expect(table).not_to_contain_text("c1-lan")
        await expect(page.get_by_text("live", exact=True)).to_be_visible()
        assert await findings(page) == []
        await control.post("/endpoints/acme-lan/consent")
        await expect(row).to_contain_text("given")
        await expect(row).to_contain_text("for tenant acme")
        await page.get_by_label("State").select_option("unasked")
        await expect(table.get_by_role("row")).to_have_count(2)
        await expect(table).to_contain_text("beta-lan")
        await page.get_by_role("searchbox").fill("nobody")
        await expect(page.get_by_text("Nothing fits the search.")).to_be_visible()
