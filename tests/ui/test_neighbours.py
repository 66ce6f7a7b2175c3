"""Neighbours: the matrix by keyboard, live and searched; the list; a pair and its history; hostile names."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from controller.agents import neighbours as work
from controller.db import bandwidths
from tests.ui.browsing import findings
from tests.ui.conftest import Open, Window
from tests.ui.test_attacks import SCRIPTS, unharmed
from tests.ui.test_everybody import SIZES, picture, settled
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.neighbour_reports import measured, told

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Place:
    window: Window
    agents: list[FakeAgent]


@pytest.fixture
async def place(open_window: Open, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """A region whose cloudlets have measured each other: c1 reaches c2 well, c3 is slow, silent or stale."""
    monkeypatch.setattr(work, "PAUSE", 0.01)
    async with open_window(filled=False) as window:
        control = window.controller
        agents = [await control.agent(f"c{number}", number) for number in (1, 2, 3)]
        await control.post("/vcps", {"name": "blue"})
        for name in ("c1-lan", "c2-lan"):
            await control.post("/vcps/blue/members", {"endpoint": name})
        past = [measured(n, "c2", None if n == 3 else 10.0 + n, age=900 - 60 * n) for n in range(12)]
        await told(agents[0], "c1", *past, measured(20, "c2", 12.0), measured(21, "c3", None))
        await told(agents[1], "c2", measured(0, "c1", 13.0), measured(1, "c3", 210.0))
        await told(agents[2], "c3", measured(0, "c1", 40.0, age=900), measured(1, "c2", 90.0, received=2))
        yield Place(window, agents)


async def live(page: Page) -> None:
    await expect(page.get_by_text("live", exact=True)).to_be_visible()


def matrix(page: Page) -> Locator:
    return page.get_by_role("grid", name="Round trips")


def named(page: Page, text: str) -> Locator:
    """The one cell that is in the document."""
    return matrix(page).get_by_role("button", name=text, exact=True)


async def test_the_matrix_is_read_and_opened_by_keyboard(place: Place) -> None:
    async with place.window.user("viewer", "/neighbours") as page:
        await settled(page, "Neighbours")
        press, said = page.keyboard.press, page.locator("main [aria-live=polite]")
        await expect(matrix(page)).to_have_attribute("aria-rowcount", "4")
        cell = matrix(page).get_by_role("button")
        await cell.focus()
        for key, text in (
            ("Home", "c1 → c1: the cloudlet itself"),
            ("ArrowRight", "c1 → c2: 12 ms, possible neighbour"),
            ("ArrowRight", "c1 → c3: no answer"),
            ("ArrowDown", "c2 → c3: 210 ms, too slow for VMs to move there"),
            ("Control+End", "c3 → c3: the cloudlet itself"),
            ("ArrowLeft", "c3 → c2: 90 ms, loses too much for VMs to move there"),
            ("ArrowLeft", "c3 → c1: 40 ms, stale: nothing was heard lately"),
            ("Control+Home", "c1 → c1: the cloudlet itself"),
            ("ArrowRight", "c1 → c2: 12 ms, possible neighbour"),
        ):
            await press(key)
            await expect(named(page, text)).to_be_focused()
            await expect(said).to_have_text(text)
        await press("Enter")
        await expect(page).to_have_url(re.compile(r"\?from=c1&to=c2$"))
        await expect(page.get_by_role("heading", level=2, name="c1 → c2")).to_be_focused()
        await press("Escape")
        await expect(page.get_by_role("complementary")).to_have_count(0)
        await expect(named(page, "c1 → c2: 12 ms, possible neighbour")).to_be_focused()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_everybody_can_use_them(place: Place, scheme: str, size: str) -> None:
    async with place.window.user("viewer", color_scheme=scheme, viewport=SIZES[size]) as page:
        for name, path, shown in (
            ("matrix", "/neighbours", "Arrow keys go from cell to cell"),
            ("matrix-small", "/neighbours?cells=small", "Arrow keys go from cell to cell"),
            ("neighbour-list", "/neighbours?view=list", "12 ms"),
            ("pair", "/neighbours?view=list&from=c1&to=c2", "All points as a table"),
        ):
            await page.goto(path)
            await settled(page, "Neighbours")
            await expect(page.locator("body")).to_contain_text(shown)
            await picture(page, f"{name}-{scheme}-{size}")
            if name == "pair":
                await page.get_by_text("All points as a table").click()
            assert await findings(page) == [], path
            assert await page.evaluate(SIDEWAYS) <= 0, path


async def test_cells_are_drawn_in_the_colours_of_the_scheme(place: Place) -> None:
    pixel = """canvas => {
        const [x, y] = [132 + 44 + 4, 96 + 4].map(place => Math.round(place * devicePixelRatio));
        return [...canvas.getContext("2d").getImageData(x, y, 1, 1).data];
    }"""
    seen = []
    for role, scheme in (("viewer", "light"), ("operator", "dark")):
        async with place.window.user(role, "/neighbours", color_scheme=scheme) as page:
            await settled(page, "Neighbours")
            canvas = matrix(page).locator("canvas")
            await expect(canvas).to_have_attribute("width", re.compile(r"^2\d\d$"))
            await page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            seen.append(await canvas.evaluate(pixel))
    assert all(colour[3] == 255 for colour in seen)
    assert sum(seen[0][:3]) > sum(seen[1][:3]), "quick ones are pale in light, and dim in dark"


async def test_a_measurement_shows_without_reloading(place: Place) -> None:
    async with place.window.user("viewer", "/neighbours") as page:
        await live(page)
        await expect(named(page, "c1 → c2: 12 ms, possible neighbour")).to_be_attached()
        await told(place.agents[0], "c1", measured(30, "c2", 190.0, age=0))
        await expect(named(page, "c1 → c2: 190 ms, too slow for VMs to move there")).to_be_attached()


async def test_a_search_narrows_both_axes(place: Place) -> None:
    async with place.window.user("viewer", "/neighbours") as page:
        grid, search = matrix(page), page.get_by_role("searchbox")
        await search.fill("c1 c2")
        await expect(grid).to_have_attribute("aria-rowcount", "3")
        await expect(grid).to_have_attribute("aria-colcount", "3")
        await search.fill("c1 >")
        await expect(grid).to_have_attribute("aria-rowcount", "2")
        await expect(grid).to_have_attribute("aria-colcount", "3")
        await expect(page).to_have_url(re.compile(r"q=c1\+%3E$"))
        await search.fill("zebra")
        await expect(page.get_by_text("No cloudlet fits this search.")).to_be_visible()
        await search.fill("")
        await page.get_by_label("Pool").select_option("blue")
        await expect(grid).to_have_attribute("aria-colcount", "3")
        await expect(page.get_by_text(re.compile("2 . 2 cells of 2 cloudlets"))).to_be_visible()
        await page.reload()
        await expect(page.get_by_label("Pool")).to_have_value("blue")


async def test_a_thousand_cloudlets_are_few_elements(place: Place) -> None:
    names = [f"edge-{number:04d}" for number in range(1000)]
    medians = {one: {other: 5.0 + (i * j) % 200 for j, other in enumerate(names)} for i, one in enumerate(names[:250])}

    async def answer(route: Any) -> None:
        await route.fulfill(json={"cloudlets": names, "median_ms": medians, "next": None})

    async with place.window.user("viewer") as page:
        await page.route("**/api/v1/neighbours/matrix*", answer)
        await page.goto("/neighbours")
        await expect(matrix(page)).to_have_attribute("aria-colcount", "1001")
        assert await matrix(page).locator("*").count() < 20
        await matrix(page).get_by_role("button").focus()
        await page.keyboard.press("Control+End")
        await expect(named(page, "edge-0999 → edge-0999: the cloudlet itself")).to_be_focused()
        height = "canvas => canvas.getBoundingClientRect().height - innerHeight"
        assert await matrix(page).locator("canvas").evaluate(height) < 0
        await page.keyboard.press("Control+Home")
        await page.keyboard.press("ArrowRight")
        await expect(named(page, "edge-0000 → edge-0001: 5 ms, possible neighbour")).to_be_focused()


async def test_the_list_has_all_figures_and_filters(place: Place) -> None:
    async with place.window.controller.region.database.write() as session:
        await bandwidths.record(session, "c1", "c2", 10_000_000, 1.0)
    async with place.window.user("viewer", "/neighbours?view=list") as page:
        table = page.get_by_role("table", name="Neighbours")
        for row, state, shown in (
            (1, "possible", ("c1", "c2", "12 ms", "24 ms", "80 Mbit/s", "icmp", "ago")),
            (2, "no answer", ("c1", "c3", "100%")),
            (4, "too slow", ("c2", "c3", "210 ms")),
            (5, "stale", ("c3", "c1", "40 ms")),
            (6, "lossy", ("c3", "c2", "90 ms", "60%")),
        ):
            for text in (state, *shown):
                await expect(table.get_by_role("row").nth(row)).to_contain_text(text)
        await page.get_by_label("State").select_option("impossible")
        await expect(page).to_have_url(re.compile("state=impossible"))
        await expect(table).not_to_contain_text("80 Mbit/s")
        await expect(table).to_contain_text("210 ms")
        await page.get_by_role("searchbox", name="Cloudlet").fill("c3")
        await page.keyboard.press("Enter")
        await expect(table).not_to_contain_text("210 ms")
        await page.go_back()
        await expect(table).to_contain_text("210 ms")
        await page.get_by_role("searchbox", name="Neighbour").fill("c9")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("c9")


async def test_a_pair_has_both_directions_and_a_history(place: Place) -> None:
    async with place.window.user("viewer", "/neighbours?from=c1&to=c2") as page:
        drawer = page.get_by_role("complementary", name="c1 → c2")
        await expect(drawer.get_by_role("row", name=re.compile("^Median"))).to_contain_text(re.compile("12 ms.*13 ms"))
        await expect(drawer).to_contain_text("no move has measured it")
        chart = drawer.get_by_role("img", name=re.compile("Round trips from c1 to c2 in 13 rounds"))
        await expect(chart).to_be_visible()
        await expect(chart.locator("rect")).to_have_count(1)
        slider = drawer.get_by_role("slider", name="Point in time")
        await slider.focus()
        await page.keyboard.press("Home")
        await expect(slider).to_have_attribute("aria-valuetext", re.compile(r"10 ms \(5 ms . 20 ms\)$"))
        for _ in range(3):
            await page.keyboard.press("ArrowRight")
        await expect(slider).to_have_attribute("aria-valuetext", re.compile("nothing came back; Lost 100%$"))
        await drawer.get_by_text("All points as a table").click()
        await expect(drawer.get_by_role("group", name="All points as a table").get_by_role("row")).to_have_count(14)
        await live(page)
        await told(place.agents[0], "c1", measured(40, "c2", 200.0, age=0))
        await expect(drawer).to_contain_text("too slow")
        await expect(drawer.get_by_role("img", name=re.compile("in 14 rounds"))).to_be_visible()
        await drawer.get_by_label("Span").select_option("hour")
        await expect(page).to_have_url(re.compile("span=hour"))
        await expect(drawer).to_contain_text("There is no hour yet")
        await drawer.get_by_role("link", name="The other direction").click()
        await expect(page.get_by_role("complementary", name="c2 → c1")).to_be_visible()


async def test_hostile_addresses_do_nothing(place: Place) -> None:
    script = SCRIPTS[0]
    async with place.window.user("viewer") as page:
        await page.goto(f"/neighbours?q={script}&vcp=blue")
        await unharmed(page, "No cloudlet fits this search.")
        await page.goto(f"/neighbours?view=list&cloudlet={SCRIPTS[2]}")
        await expect(page.get_by_role("alert").first).to_be_visible()
        await unharmed(page)
        await page.goto("/neighbours?from=c1&to=c1")
        await expect(page.get_by_role("complementary")).to_contain_text("There was no round within a day.")
        await page.goto(f"/neighbours?from={script}&to=c2&span={script}")
        await expect(page.get_by_role("alert").first).to_be_visible()
        await unharmed(page, script)
