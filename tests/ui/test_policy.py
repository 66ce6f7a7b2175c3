"""The policy: in force and its drift, a plan with its diagnostics and its harm, application, history and rollback."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.ui.browsing import findings
from tests.ui.conftest import Window
from tests.ui.test_everybody import settled

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]

FIRST = "apiVersion: weft/v1\nvcps:\n  blue: {members: [c1-lan, c2-lan]}\n"
SECOND = "apiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan]\n  red:\n    members: [c3-lan]\n"
WRONG = "apiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan, c9-lan]\n"

PASTE = """(editor, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    editor.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


async def applied(window: Window, text: str) -> None:
    headers = {"Content-Type": "application/yaml"}
    answer = await window.controller.http.post("/api/v1/policy/apply", content=text, headers=headers)
    assert answer.status_code == 200, answer.text


async def write(page: Page, text: str) -> Locator:
    """Paste a policy in place of what the editor has."""
    editor = page.get_by_role("textbox", name="Policy to plan")
    await editor.click()
    await page.keyboard.press("Control+a")
    await editor.evaluate(PASTE, text)
    await expect(editor).to_contain_text(text.splitlines()[-1])
    return editor


async def members(window: Window) -> dict[str, list[str]]:
    return {vcp["name"]: vcp["members"] for vcp in (await window.controller.get("/vcps"))["items"]}


async def test_a_policy_is_planned_applied_and_rolled_back(window: Window) -> None:
    await applied(window, FIRST)
    async with window.user("network-engineer", "/policy") as page:
        await settled(page, "Policy")
        await expect(page.get_by_role("textbox", name="The policy in force")).to_contain_text("c2-lan")
        await expect(page.get_by_role("region", name="Drift")).to_contain_text("the region is as it says")
        assert await findings(page) == []

        await page.get_by_role("link", name="Plan", exact=True).click()
        await write(page, SECOND)
        await page.get_by_role("link", name="History").click()
        await page.get_by_role("link", name="Plan", exact=True).click()  # what was written is still there
        await page.get_by_role("button", name="Plan", exact=True).click()
        plan = page.get_by_role("region", name="Plan")
        for step in ("+ pool red", "+ c3-lan joins red", "c2-lan leaves blue"):
            await expect(plan.get_by_role("list", name="Steps")).to_contain_text(step)
        await expect(plan).to_contain_text("would be announced")
        assert await findings(page) == []
        assert (await members(window))["blue"] == ["c1-lan", "c2-lan"], "a plan changes nothing"
        await plan.get_by_role("button", name="Apply this plan").click()
        await expect(plan).to_contain_text("In force as revision 2")
        assert await members(window) == {"blue": ["c1-lan"], "red": ["c3-lan"]}

        await page.get_by_role("link", name="History").click()
        await page.get_by_role("link", name="from 1").click()
        difference = page.get_by_role("region", name="From 1 to 2")
        await expect(difference).to_contain_text("+    members: [c3-lan]")
        await expect(page).to_have_url(re.compile("before=1&after=2"))
        assert await findings(page) == []
        await page.get_by_role("button", name="Roll back … 1").click()
        dialog = page.get_by_role("dialog", name="Roll back to revision 1")
        await expect(dialog.get_by_role("list", name="Steps")).to_contain_text("+ c2-lan joins blue")
        await dialog.get_by_label("On trial for").select_option("5")
        await dialog.get_by_role("button", name="Roll back now").click()
        await expect(dialog).to_contain_text("In force, on trial")
        await dialog.get_by_role("button", name="Close", exact=True).last.click()
        await page.get_by_role("button", name="Confirm").click()
        await expect(page.get_by_role("timer")).to_have_count(0)
    assert await members(window) == {"blue": ["c1-lan", "c2-lan"]}


async def test_errors_are_shown_at_their_lines(window: Window) -> None:
    async with window.user("viewer", "/policy?view=plan") as page:
        editor = await write(page, WRONG)
        await page.get_by_role("button", name="Plan", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("c9-lan")
        await expect(editor.locator(".cm-lintRange-error")).to_have_count(1)
        assert await findings(page) == []
        await page.keyboard.press("Tab")
        await write(page, FIRST)
        await expect(editor.locator(".cm-lintRange-error")).to_have_count(0)
        await page.get_by_role("button", name="Plan", exact=True).click()
        await expect(page.get_by_text("You may plan; a network engineer or more applies.")).to_be_visible()


async def test_a_file_is_opened_and_keys_are_offered(window: Window, tmp_path: Path) -> None:
    file = tmp_path / "region.yaml"
    file.write_text("apiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan]\n")
    async with window.user("network-engineer", "/policy?view=plan") as page:
        await page.get_by_label("Open a file …").set_input_files(file)
        await expect(page.get_by_text("region.yaml")).to_be_visible()
        editor = page.get_by_role("textbox", name="Policy to plan")
        await expect(editor).to_contain_text("members: [c1-lan]")
        await editor.click()
        await page.keyboard.press("Control+End")
        await page.keyboard.type("    fl")
        await page.get_by_role("option", name="flavour").click()
        await expect(editor).to_contain_text("flavour: ")
        await page.keyboard.type("ev")
        await expect(page.get_by_role("option", name="evpn")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("Control+a")
        await page.keyboard.type("x")
        await expect(editor).to_have_text("x")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Policy")  # letters are no shortcuts there


async def test_drift_is_shown_with_its_steps(window: Window) -> None:
    await applied(window, FIRST)
    async with window.user("viewer", "/policy") as page:
        drift = page.get_by_role("region", name="Drift")
        await expect(drift).to_contain_text("the region is as it says")
        await window.controller.delete("/vcps/blue/members/c2-lan")
        await expect(drift).to_contain_text("the region is not as it says")
        await expect(drift).to_contain_text("c2-lan joins blue")


async def test_another_policy_came_into_force_meanwhile(window: Window) -> None:
    await applied(window, FIRST)
    async with window.user("network-engineer", "/policy?view=plan") as page:
        await write(page, SECOND)
        await page.get_by_role("button", name="Plan", exact=True).click()
        button = page.get_by_role("button", name="Apply this plan")
        await expect(button).to_be_enabled()
        await applied(window, FIRST + "  green: {members: [c3-lan]}\n")
        await button.click()
        await expect(page.get_by_role("alert")).to_contain_text("load the page again")
        await expect(page.get_by_role("group", name="What has changed meanwhile")).to_contain_text("+  green:")
    assert (await members(window))["green"] == ["c3-lan"]


async def test_harm_is_agreed_to_before_a_plan_is_applied(window: Window) -> None:
    control = window.controller
    await applied(window, FIRST)
    altered = await control.http.patch("/api/v1/endpoints/c1-lan", json={"tenant": "acme"})
    assert altered.status_code == 200, altered.text
    async with window.user("network-engineer", "/policy?view=plan") as page:
        await write(page, FIRST + "tenants: {acme: {}}\n")
        await page.get_by_role("button", name="Plan", exact=True).click()
        button = page.get_by_role("button", name="Apply this plan")
        await expect(page.get_by_text("Endpoints in force without")).to_be_visible()
        await expect(button).to_be_disabled()
        await page.get_by_label("What becomes of them").select_option("hold")
        await button.click()
        await expect(page.get_by_text("In force as revision 2")).to_be_visible()
    assert (await members(window))["blue"] == ["c2-lan"]
