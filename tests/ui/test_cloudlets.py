"""A new cloudlet: from the form to the moment at which it is in the region, with an agent and without one."""

import re

import pytest
from playwright.async_api import expect

from tests.ui.browsing import findings
from tests.ui.conftest import Window
from tests.unit.controller.fake_agent import FakeAgent

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]


async def test_a_cloudlet_with_an_agent_comes_in(window: Window) -> None:
    control = window.controller
    async with window.user("operator", "/cloudlets") as page:
        await page.get_by_role("link", name="Add a cloudlet …").click()
        await page.get_by_role("button", name="Add it").click()
        await expect(page.get_by_role("alert")).to_have_count(2)
        await page.get_by_label("Name", exact=True).fill("c9")
        await page.get_by_label("VTEP", exact=True).fill("192.0.2.9")
        await page.get_by_label("Place").fill("45.07, 7.69")
        await page.get_by_label("Prefix").fill("10.9.0.0/24")
        assert await findings(page) == []
        await page.get_by_role("button", name="Add it").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("c9 comes in")
        token = (await page.get_by_role("group", name="Token").locator("pre").inner_text()).strip()
        assert token and token not in page.url
        await expect(page.get_by_role("group", name="Settings")).to_contain_text('cloudlet = "c9"')
        steps = page.get_by_role("list", name="Progress").get_by_role("listitem")
        await expect(steps.filter(has_text="The agent has enrolled")).to_contain_text("waiting")
        await expect(steps.filter(has_text="It has a LAN")).to_contain_text("done")
        assert await findings(page) == []
        await control.follow(FakeAgent(control.http, await control.enrol("c9", token)))
        await expect(page.get_by_text("It is in the region:")).to_be_visible()
        await expect(page.get_by_role("group", name="Token")).to_have_count(0)
        await page.get_by_role("link", name="c9", exact=True).click()
        await expect(page.get_by_role("cell", name="c9-lan", exact=True)).to_be_visible()
    assert (await control.get("/cloudlets/c9"))["latitude"] == 45.07


async def test_a_token_is_shown_once(window: Window) -> None:
    await window.controller.post("/cloudlets", {"name": "c9", "pe": "vpls", "vtep": "192.0.2.9"})
    async with window.user("operator", "/add-cloudlet?name=c9") as page:
        await expect(page.get_by_text("weft cloudlet token c9")).to_be_visible()
        assert await findings(page) == []


async def test_a_pe_without_an_agent_gets_its_configuration(window: Window) -> None:
    async with window.user("operator", "/add-cloudlet") as page:
        await page.get_by_label("Name", exact=True).fill("r4")
        await page.get_by_label("VTEP", exact=True).fill("192.0.2.44")
        await page.get_by_label("Configured by").select_option("unmanaged")
        await page.get_by_label("Kind of PE").select_option("evpn")
        await page.get_by_label("AS number").fill("64900")
        await page.get_by_label("Prefix").fill("10.44.0.0/24")
        await page.get_by_role("button", name="Add it").click()
        configuration = page.get_by_role("group", name=re.compile("The PE.s configuration"))
        await expect(configuration).to_contain_text("router bgp 64900")
        await expect(page.get_by_text(re.compile("tests do not run this one"))).to_have_count(0)
        await page.get_by_label("For").select_option("junos")
        await expect(configuration).to_contain_text("peer-as")
        await expect(page.get_by_text(re.compile("tests do not run this one"))).to_be_visible()
        assert await findings(page) == []
        await expect(page.get_by_role("list", name="Progress")).not_to_contain_text("The agent has enrolled")


async def test_a_refusal_keeps_what_was_written(window: Window) -> None:
    async with window.user("operator", "/add-cloudlet") as page:
        await page.get_by_label("Name", exact=True).fill("c1")
        await page.get_by_label("VTEP", exact=True).fill("192.0.2.99")
        await page.get_by_role("button", name="Add it").click()
        await expect(page.get_by_role("alert")).to_contain_text("c1")
        await expect(page.get_by_label("VTEP", exact=True)).to_have_value("192.0.2.99")
        await expect(page).to_have_url(re.compile("/add-cloudlet$"))


async def test_who_may_not_add_one_sees_no_button(window: Window) -> None:
    async with window.user("network-engineer", "/cloudlets") as page:
        await expect(page.get_by_role("link", name="c1", exact=True)).to_be_visible()
        await expect(page.get_by_role("link", name="Add a cloudlet …")).to_have_count(0)
        await page.goto("/add-cloudlet")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Not for this role")
