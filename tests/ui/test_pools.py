"""A pool's reachability: probes when an operator asks, and what they have found."""

import pytest
from playwright.async_api import expect

from controller.wire.probes import ProbeResult
from tests.ui.browsing import findings
from tests.ui.conftest import Open, Window
from tests.unit.controller.test_verification import town

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]


async def test_who_reaches_whom(open_window: Open) -> None:
    async with open_window(filled=False) as window:
        agents = await town(window.controller)
        async with window.user("operator", "/pools/blue") as page:
            section = page.get_by_role("region", name="Reachability")
            await section.get_by_role("button", name="Verify now").click()
            await expect(section).to_contain_text("all as it should be")
            row = section.get_by_role("row").filter(has=page.get_by_role("rowheader", name="c1-lan"))
            await expect(row.get_by_role("cell").nth(1)).to_contain_text("passes")
            assert await findings(page) == []
            for agent in agents:
                agent.finds = lambda one: ProbeResult(endpoint=one.endpoint, remote=one.remote, address=one.address)
            await section.get_by_role("button", name="Verify now").click()
            await expect(section.get_by_role("list", name="Remarks")).to_contain_text("answers no ARP")
            await expect(row.get_by_role("cell").nth(1)).to_contain_text("differs")
            assert await findings(page) == []


async def test_who_may_not_probe_sees_no_button(window: Window) -> None:
    async with window.user("network-engineer", "/pools/blue") as page:
        await expect(page.get_by_role("heading", name="Members (2)")).to_be_visible()
        await expect(page.get_by_role("button", name="Verify now")).to_have_count(0)
