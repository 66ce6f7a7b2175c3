"""The map: cloudlets at their places and the ways between them, pools around their LANs."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.ui.browsing import findings
from tests.ui.conftest import Window
from tests.ui.region import many

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]

TOWNS = {"c1": (45.07, 7.69), "c2": (45.46, 9.19), "c3": (41.9, 12.5)}


async def place(window: Window, *names: str) -> None:
    for name in names:
        latitude, longitude = TOWNS[name]
        answer = await window.controller.http.patch(
            f"/api/v1/cloudlets/{name}", json={"latitude": latitude, "longitude": longitude}
        )
        assert answer.status_code == 200, answer.text


async def at(page: Page, name: str) -> tuple[float, float]:
    """Return where a node's mark is in the window."""
    box = await page.locator(f"[data-node='{name}'] .mark").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


async def test_cloudlets_are_where_they_are(window: Window) -> None:
    await place(window, "c1", "c2")
    async with window.user("viewer", "/map") as page:
        await expect(page.get_by_role("link", name="c1: agent connected, 1 way")).to_be_visible()
        (turin, milan) = (await at(page, "c1"), await at(page, "c2"))
        assert turin[0] < milan[0] and turin[1] > milan[1], "Milan lies to the north-east of Turin"
        await expect(page.get_by_text("Without a place: c3")).to_be_visible()
        await place(window, "c3")
        await expect(page.get_by_role("link", name="c3: agent connected")).to_be_visible()
        await expect(page.get_by_text("Without a place")).to_have_count(0)
        assert (await at(page, "c3"))[1] > (await at(page, "c1"))[1], "the map shows Rome too, in the south"


async def test_a_cloudlet_and_its_ways(window: Window) -> None:
    """The drawer follows the region, and is in the address."""
    await place(window, *TOWNS)
    async with window.user("viewer", "/map") as page:
        await page.get_by_role("link", name="c1: agent connected").click()
        drawer = page.get_by_role("complementary")
        await expect(drawer.get_by_role("heading", name="Ways (1)")).to_be_visible()
        await expect(drawer.get_by_role("row").filter(has_text="c2")).to_contain_text("blue")
        await expect(page).to_have_url(re.compile(r"/map\?at=c1"))
        assert await findings(page) == []
        await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"})
        await expect(drawer.get_by_role("row").filter(has_text="c3")).to_contain_text("not measured")
        await page.keyboard.press("Escape")
        await expect(drawer).to_have_count(0)
        await expect(page.get_by_role("link", name="c1: agent connected, 2 ways")).to_be_visible()


async def test_the_arrow_keys_go_from_cloudlet_to_cloudlet(window: Window) -> None:
    await place(window, *TOWNS)
    async with window.user("viewer", "/map") as page:
        await page.get_by_role("link", name="c1: agent connected").focus()
        for key, name in (("ArrowRight", "c2"), ("ArrowDown", "c3"), ("ArrowUp", "c2"), ("ArrowLeft", "c1")):
            await page.keyboard.press(key)
            await expect(page.locator(":focus")).to_have_attribute("data-node", name)
        assert await page.locator("[data-node][tabindex='0']").count() == 1, "the tab key stops once"
        for _ in range(6):
            await page.get_by_role("button", name="Zoom in").click()
        await page.get_by_role("link", name="c1: agent connected").focus()
        await page.keyboard.press("ArrowRight")
        plane = await page.get_by_role("group", name="Map of the cloudlets").bounding_box()
        assert plane is not None
        x, y = await at(page, "c2")
        assert 0 <= x - plane["x"] <= plane["width"] and 0 <= y - plane["y"] <= plane["height"], "it comes into sight"


async def test_pools_stand_around_their_lans(window: Window) -> None:
    await window.controller.post("/vcps", {"name": "red", "description": ""})
    await window.controller.post("/vcps/red/members", {"endpoint": "c2-lan"})
    async with window.user("viewer", "/map") as page:
        await page.get_by_role("navigation", name="View").get_by_role("link", name="Pools").click()
        await expect(page.locator("[aria-busy=true]")).to_have_count(0)
        await expect(page.get_by_role("link", name="Pool blue: 2 LANs")).to_be_visible()
        await expect(page.get_by_role("link", name="c2-lan, agent connected, in blue, red")).to_be_visible()
        await expect(page.get_by_text("1 LAN is in no pool.")).to_be_visible()
        assert await findings(page) == []
        await page.get_by_label("Pool", exact=True).select_option("blue")
        await expect(page).to_have_url(re.compile("pool=blue"))
        await window.controller.post("/vcps/blue/members", {"endpoint": "c3-lan"})
        await expect(page.get_by_role("link", name="Pool blue: 3 LANs")).to_be_visible()
        await page.get_by_role("link", name="Pool red").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("red")


async def test_a_thousand_places_are_a_few_nodes(window: Window) -> None:
    """Those that lie close together are one, and zooming in takes them apart."""
    await window.controller.http.patch("/api/v1/cloudlets/c1", json={"latitude": None, "longitude": None})
    await many(window.controller, 600)
    for number in range(600):
        body = {"latitude": 45 + number // 30 * 0.001, "longitude": 7 + number % 30 * 0.001}
        await window.controller.http.patch(f"/api/v1/cloudlets/edge-{number:04d}", json=body)
    async with window.user("viewer", "/map") as page:
        nodes = page.locator("[data-node]")
        await expect(page.get_by_role("button", name=re.compile("cloudlets close together")).first).to_be_visible()
        assert 20 < await nodes.count() < 400
        before = await nodes.count()
        await page.locator("button[data-node]").first.press("Enter")
        await expect(nodes).not_to_have_count(before)
        assert await nodes.count() > before
