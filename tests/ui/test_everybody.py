"""The UI for everybody: by keyboard alone, for screen readers (axe), in both schemes and languages, on phones, in each
role."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.ui.browsing import findings, screenshots, visiting
from tests.ui.conftest import Window

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]

ROLES = ("viewer", "network-engineer", "operator", "admin")

PAGES = {
    "overview": ("/", "Overview"),
    "map": ("/map", "Map"),
    "map-pools": ("/map?view=pools", "Map"),
    "cloudlets": ("/cloudlets", "Cloudlets"),
    "cloudlet": ("/cloudlets/c1", "c1"),
    "pools": ("/pools", "Pools"),
    "pool": ("/pools/blue", "blue"),
    "addresses": ("/addresses", "Addresses"),
    "lan": ("/addresses/c1-lan", "c1-lan"),
    "leases": ("/addresses/c1-lan?view=leases", "c1-lan"),
    "reservations": ("/addresses/c1-lan?view=reservations", "c1-lan"),
    "statics": ("/addresses/c1-lan?view=statics", "c1-lan"),
    "tokens": ("/access?view=tokens", "Access"),
    "consents": ("/access?view=consents", "Access"),
    "roles": ("/access?view=roles", "Access"),
    "policy": ("/policy", "Policy"),
    "policy-plan": ("/policy?view=plan", "Policy"),
    "policy-history": ("/policy?view=history", "Policy"),
    "activity": ("/activity", "Activity"),
    "changes": ("/activity?view=changes", "Activity"),
    "events": ("/activity?view=events&type=member-*", "Activity"),
    "audit": ("/activity?view=audit", "Activity"),
    "moves": ("/moves", "Moves"),
    "scheduled": ("/moves?view=scheduled", "Moves"),
    "decisions": ("/moves?view=decisions", "Moves"),
    "vms": ("/vms", "VMs and containers"),
    "vm": ("/vms/web?to=c2-lan", "web"),
    "looking-glass": ("/routes", "Looking glass"),
    "explain": ("/routes/explain?from=c1-lan&to=c3-lan", "Explain a route"),
    "neighbours": ("/neighbours", "Neighbours"),
    "neighbour-list": ("/neighbours?view=list&from=c1&to=c2", "Neighbours"),
    "tunnels": ("/tunnels", "Tunnels and certificates"),
    "certificates": ("/tunnels?view=certificates", "Tunnels and certificates"),
}
"""The pages of this region, and their titles."""

SIZES = {"wide": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}


async def settled(page: Page, title: str) -> None:
    await expect(page.get_by_role("heading", level=1)).to_have_text(title)
    await expect(page.locator("[aria-busy=true], .loading")).to_have_count(0)


async def picture(page: Page, name: str) -> None:
    if (folder := screenshots()) is not None:
        await page.screenshot(path=folder / f"{name}.png")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing(window: Window, scheme: str, size: str) -> None:
    await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"}, confirm_within=600)
    async with visiting(window.browser, window.url, color_scheme=scheme, viewport=SIZES[size]) as page:
        await page.goto("/")
        await page.get_by_label("API token").wait_for()
        await picture(page, f"sign-in-{scheme}-{size}")
        assert await findings(page) == []
    async with window.user("admin", color_scheme=scheme, viewport=SIZES[size]) as page:
        for name, (path, title) in PAGES.items():
            await page.goto(path)
            await settled(page, title)
            await picture(page, f"{name}-{scheme}-{size}")
            assert await findings(page) == [], name
            sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert await page.evaluate(sideways) <= 0, f"{name} is wider than the window"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_in_what_opens(window: Window, scheme: str) -> None:
    async with window.user("admin", "/routes", color_scheme=scheme) as page:
        await page.get_by_role("cell").first.get_by_role("button").click()
        await page.get_by_role("complementary").wait_for()
        await picture(page, f"drawer-{scheme}")
        assert await findings(page) == []
        await page.goto("/pools/blue")
        await page.get_by_role("button", name="Join …").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Rehearse").click()
        await expect(dialog.get_by_role("alert")).to_be_visible()
        assert await findings(page) == []
        await dialog.get_by_label("Endpoint").fill("c3-lan")
        await dialog.get_by_role("button", name="Rehearse").click()
        await dialog.get_by_role("button", name="Join now").wait_for()
        await picture(page, f"rehearsal-{scheme}")
        assert await findings(page) == []
        await dialog.get_by_label("On trial for").select_option("5")
        await dialog.get_by_role("button", name="Join now").click()
        await expect(dialog).to_contain_text("In force after")
        await picture(page, f"joined-{scheme}")
        assert await findings(page) == []
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Confirm")).to_be_visible()
        await page.get_by_role("button", name="Keyboard shortcuts").click()
        await picture(page, f"shortcuts-{scheme}")
        assert await findings(page) == []


async def test_by_keyboard_alone(window: Window) -> None:
    token = await window.token("network-engineer")
    async with visiting(window.browser, window.url) as page:
        press, focused = page.keyboard.press, page.locator(":focus")
        await page.goto("/pools/blue")
        await page.get_by_label("API token").wait_for()
        await press("Tab")
        await page.keyboard.type(token)
        await press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("blue")

        await press("Tab")
        await expect(focused).to_have_text("Skip to the content")
        await press("Enter")
        await expect(page.locator("main")).to_be_focused()

        await press("g")
        await press("c")
        await expect(page.get_by_role("heading", level=1)).to_be_focused()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Cloudlets")
        await press("/")
        await expect(page.get_by_role("searchbox")).to_be_focused()
        await page.keyboard.type("c2")
        await expect(page.get_by_role("link", name="c2", exact=True)).to_be_visible()
        await expect(page.get_by_role("link", name="c1", exact=True)).to_have_count(0)
        await expect(page).to_have_url(re.compile(r"\?q=c2$"))
        await page.get_by_role("searchbox").fill("")
        await page.get_by_role("link", name="c1", exact=True).focus()
        await press("ArrowDown")
        await expect(focused).to_have_text("c2")
        await press("End")
        await expect(focused).to_have_text("c3")
        await press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("c3")
        await expect(page.get_by_role("heading", level=1)).to_be_focused()

        await press("?")
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        await press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.go_back()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Cloudlets")

        await press("g")
        await press("p")
        await page.get_by_role("link", name="blue").focus()
        await press("Enter")
        await page.get_by_role("button", name="Leave … c2-lan").focus()
        await press("Enter")
        dialog = page.get_by_role("dialog", name="c2-lan leaves blue")
        leave = dialog.get_by_role("button", name="Leave now")
        await expect(leave).to_be_visible()
        for _ in range(6):
            await press("Tab")
            if await leave.evaluate("one => one === document.activeElement"):
                break
        await expect(leave).to_be_focused()
        await press("Enter")
        await expect(dialog).to_contain_text("In force after")
    assert (await window.controller.get("/vcps/blue"))["members"] == ["c1-lan"]


@pytest.mark.parametrize("role", ROLES)
async def test_each_page_in_each_role(window: Window, role: str) -> None:
    """A role sees every page, and only what it may do."""
    async with window.user(role) as page:
        for path, title in PAGES.values():
            await page.goto(path)
            await settled(page, title)
            assert await page.get_by_role("alert").count() == 0, path
        await page.goto("/pools/blue")
        changes = page.get_by_role("button", name=re.compile("^(Join|Leave)"))
        await settled(page, "blue")
        assert (await changes.count() > 0) is (role != "viewer")


async def test_a_tenant_sees_its_own(window: Window) -> None:
    control = window.controller
    await control.post("/cloudlets", {"name": "c9", "pe": "vpls", "vtep": "192.0.2.9"})
    for name, tenant, prefix in (("acme-lan", "acme", "10.9.0.0/24"), ("beta-lan", "beta", "10.8.0.0/24")):
        await control.post("/endpoints", {"name": name, "cloudlet": "c9", "prefix": prefix, "tenant": tenant})
    policy = "apiVersion: weft/v1\nvcps:\n  blue: {members: [c1-lan, c2-lan]}\ntenants:\n  acme: {}\n"
    headers = {"Content-Type": "application/yaml"}
    applied = await control.http.post("/api/v1/policy/apply?hold_back=true", content=policy, headers=headers)
    assert applied.status_code == 200, applied.text
    async with window.user("tenant") as page:
        await settled(page, "LANs and consent")
        await expect(page.get_by_role("cell", name="acme-lan", exact=True)).to_be_visible()
        assert "beta-lan" not in await page.content()
        assert await findings(page) == []
        await page.get_by_role("button", name="Give consent acme-lan").click()
        await expect(page.get_by_role("cell", name="given")).to_be_visible()
        await page.get_by_role("button", name="Withdraw … acme-lan").click()
        await page.get_by_role("dialog").get_by_role("button", name="Withdraw", exact=True).click()
        await expect(page.get_by_role("cell", name="withdrawn")).to_be_visible()
        await page.goto("/pools")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Not for this role")


async def test_the_browser_s_language_is_the_first(window: Window) -> None:
    async with visiting(window.browser, window.url, locale="de-AT") as page:
        await page.goto("/")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Anmelden")
        assert await page.locator("html").get_attribute("lang") == "de"


async def test_a_choice_is_kept(window: Window) -> None:
    async with window.user("viewer") as page:
        await page.get_by_label("Language").select_option("de")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Übersicht")
        await page.get_by_label("Farben").select_option("dark")
        await page.reload()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Übersicht")
        await picture(page, "overview-de")
        ground = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert ground == "rgb(20, 23, 26)"
        await page.get_by_role("button", name="Abmelden").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Anmelden")
