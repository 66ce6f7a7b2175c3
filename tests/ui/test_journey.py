"""One way through the UI: sign in, look at the region, let an endpoint join a pool, see that in the activity."""

import re

import pytest
from playwright.async_api import expect

from tests.ui.conftest import Window

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


async def test_from_the_sign_in_to_a_join(window: Window) -> None:
    async with window.user("network-engineer") as page:
        await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        region = page.get_by_role("region", name="The region now")
        await expect(region).to_contain_text("rs1 is in step")
        await expect(region).to_contain_text("3 of 3 agents")
        await expect(page.get_by_role("region", name="Doctor")).to_contain_text("Doctor")
        await expect(page.get_by_text("live", exact=True)).to_be_visible()

        await page.get_by_role("navigation").get_by_role("link", name="Pools").click()
        await expect(page).to_have_url(re.compile("/pools$"))
        await page.get_by_role("link", name="blue").click()
        await expect(page.get_by_role("heading", level=2, name="Members (2)")).to_be_visible()

        await page.get_by_role("button", name="Join …").click()
        dialog = page.get_by_role("dialog", name="Join blue")
        await dialog.get_by_label("Endpoint").fill("c3-lan")
        await dialog.get_by_role("button", name="Rehearse").click()
        await expect(dialog).to_contain_text("would be announced")
        assert "c3-lan" not in (await window.controller.get("/vcps/blue"))["members"], "a rehearsal changes nothing"
        await dialog.get_by_role("button", name="Join now").click()
        await expect(dialog).to_contain_text("In force after")
        await expect(dialog).to_contain_text("agrees after")
        await dialog.get_by_role("button", name="Close", exact=True).last.click()
        await expect(page.get_by_role("heading", level=2, name="Members (3)")).to_be_visible()

        await page.get_by_role("navigation").get_by_role("link", name="Activity").click()
        await expect(page.get_by_role("table", name="By time")).to_contain_text("c3-lan joined blue")
    assert "c3-lan" in (await window.controller.get("/vcps/blue"))["members"]
