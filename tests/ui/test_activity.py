"""The activity: changes, events and the audit log, each by itself and by time."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.ui.browsing import findings, sign_in, visiting
from tests.ui.conftest import Open, Window

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]


async def live(page: Page) -> None:
    await expect(page.get_by_text("live", exact=True)).to_be_visible()


async def latest(window: Window, path: str, **params: Any) -> dict[str, Any]:
    """Return the latest item of a list."""
    found = (await window.controller.get(path, **params))["items"]
    return dict(found[-1] if path == "/events" else found[0])


async def test_a_change_on_trial_is_ended_in_the_list(window: Window) -> None:
    async with window.user("network-engineer", "/activity?view=changes") as page:
        table = page.get_by_role("table", name="Changes")
        await live(page)
        for verb, state in (("Roll back", "rolled back"), ("Confirm", "confirmed")):
            await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"}, confirm_within=600)
            change = await latest(window, "/changes")
            row = table.get_by_role("row").filter(has_text=f"{change['generation']} c3-lan")
            await expect(row).to_contain_text("on trial")
            await expect(row.get_by_role("timer")).to_contain_text("left")
            await row.get_by_role("button", name=f"{verb} {change['generation']}").click()
            await expect(row).to_contain_text(state)
    assert "c3-lan" in (await window.controller.get("/vcps/blue"))["members"]


async def test_a_viewer_sees_a_trial_and_cannot_end_it(window: Window) -> None:
    await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"}, confirm_within=600)
    async with window.user("viewer", "/activity?view=changes") as page:
        await expect(page.get_by_role("table").get_by_role("timer")).to_contain_text("left")
        await expect(page.get_by_role("button", name=re.compile("Confirm|Roll back"))).to_have_count(0)


async def test_events_come_by_themselves_and_fit_the_filters(window: Window) -> None:
    async with window.user("viewer", "/activity?view=events&type=member-*") as page:
        table = page.get_by_role("table", name="Events")
        await live(page)
        await expect(table).to_contain_text("c2-lan joined blue")
        await expect(table).not_to_contain_text("vcp-created")
        await window.controller.post("/vcps", {"name": "red"})
        await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"})
        await expect(table).to_contain_text("c3-lan joined blue")
        await expect(table).not_to_contain_text("vcp-created")

        await page.get_by_label("About").fill("c3-lan")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile(r"type=member-\*&about=c3-lan|type=member-%2A&about=c3-lan"))
        await expect(table).not_to_contain_text("c2-lan")
        await page.get_by_label("Type").fill("lan-*")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Nothing fits these filters.")).to_be_visible()
        await page.go_back()
        await expect(page.get_by_label("Type")).to_have_value("member-*")
        await expect(table).to_contain_text("c3-lan joined blue")


async def test_a_row_opens_what_it_is_about(window: Window) -> None:
    event = await latest(window, "/events", latest=True, type="member-*")
    async with window.user("viewer", "/activity?view=events&type=member-*") as page:
        await page.get_by_role("cell").first.get_by_role("button").click()
        details = page.get_by_role("complementary")
        await expect(details).to_contain_text("c2-lan joined blue")
        await expect(page).to_have_url(re.compile(f"row=event-{event['id']}$"))
        assert await findings(page) == []
        await page.reload()
        await expect(details).to_contain_text("c2-lan joined blue")
        await details.get_by_role("link", name="blue").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("blue")

        await page.goto(f"/activity?view=events&type=vcp-*&row=event-{event['id']}")
        await expect(details).to_contain_text("c2-lan joined blue")  # it is asked for, as the list does not have it
        await page.goto("/activity?row=event-999999")
        await expect(details).to_contain_text("This is not in the list")
        await page.keyboard.press("Escape")
        await expect(details).to_have_count(0)
        await expect(page).to_have_url(re.compile("/activity$"))


async def test_older_lines_come_as_one_scrolls(window: Window) -> None:
    for number in range(450):
        window.controller.region.runtime.event_log.note("device-seen", f"d{number}", f"device d{number} was seen")
    async with window.user("viewer", "/activity?view=events&type=device-seen") as page:
        table = page.get_by_role("table", name="Events")
        await expect(table).to_contain_text("device d449 was seen")
        await page.get_by_role("cell").first.get_by_role("button").focus()
        for rows in ("401", "451"):
            await page.keyboard.press("End")
            await expect(table).to_have_attribute("aria-rowcount", rows)
        await page.keyboard.press("End")
        await expect(table).to_contain_text("device d0 was seen")


async def test_the_audit_log_is_for_operators(window: Window) -> None:
    async with window.user("network-engineer", "/activity?view=audit") as page:
        await expect(page.get_by_role("status").filter(has_text="takes the role operator")).to_be_visible()
        await expect(page.get_by_role("link", name="Audit log")).to_have_count(0)
    async with window.user("operator", "/activity") as page:
        await page.get_by_role("link", name="Audit log").click()
        table = page.get_by_role("table", name="Audit log")
        await page.get_by_label("Path begins with").fill("/api/v1/vcps/blue")
        await page.keyboard.press("Enter")
        await expect(table).to_contain_text("admin token: /api/v1/vcps/blue/members")
        await expect(table).not_to_contain_text("/api/v1/cloudlets")
        await page.get_by_role("cell").first.get_by_role("button").click()
        details = page.get_by_role("complementary")
        await expect(details).to_contain_text('"endpoint": "c2-lan"')
        await expect(details.get_by_role("link", name="blue")).to_have_attribute("href", "/pools/blue")
        assert await findings(page) == []
        await page.get_by_label("Status").fill("7")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_have_text("A number from 100 to 599.")


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_the_view_by_time_has_what_a_role_sees(window: Window, role: str) -> None:
    await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"})
    async with window.user(role, "/activity") as page:
        table = page.get_by_role("table", name="By time")
        rows = table.get_by_role("row")
        for kind in ("Change", "Event"):
            await expect(rows.filter(has_text=kind).filter(has_text="c3-lan joined blue")).to_have_count(1)
        audit = rows.filter(has_text="Audit").filter(has_text="/vcps/blue/members")
        await expect(audit).to_have_count(3 if role == "operator" else 0)
        times = await table.locator("[data-index]").evaluate_all(
            "rows => rows.sort((a, b) => a.dataset.index - b.dataset.index).map(row => row.children[0].textContent)"
        )
        assert times == sorted(times, reverse=True)


async def test_a_list_goes_on_after_the_controller_was_away(open_window: Open) -> None:
    async with open_window() as first:
        port, token = int(first.url.rpartition(":")[2]), await first.token("viewer")
        visit = visiting(first.browser, first.url)
        page = await visit.__aenter__()
        await sign_in(page, token, "/activity?view=events&type=member-*")
        table = page.get_by_role("table", name="Events")
        await expect(table).to_contain_text("c2-lan joined blue")
    try:
        await expect(page.get_by_text("The controller is away; trying again.")).to_be_visible()
        await expect(table).to_contain_text("c2-lan joined blue")
        async with open_window(port=port, filled=False) as second:
            await second.controller.delete("/vcps/blue/members/c2-lan")
            await expect(table).to_contain_text("c2-lan left blue", timeout=20_000)
            await expect(table).to_contain_text("c2-lan joined blue")
    finally:
        await visit.__aexit__(None, None, None)
