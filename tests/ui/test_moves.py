"""VMs and their moves: the prediction before a move begins, its steps as they happen, failure, undo, schedules."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from playwright.async_api import Locator, Page, expect

from controller.core.clock import now
from tests.ui.browsing import findings
from tests.ui.conftest import Open, Window
from tests.unit.controller.fake_mover import breaking
from tests.unit.controller.moving_town import Town, town

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]

PHONE = {"width": 390, "height": 844}


@dataclass
class Place:
    window: Window
    town: Town


@pytest.fixture
async def place(open_window: Open) -> AsyncIterator[Place]:
    """A window on a town with a VM."""
    async with open_window(filled=False) as window, town(window.controller) as found:
        yield Place(window, found)


@asynccontextmanager
async def starting(page: Page) -> AsyncIterator[Locator]:
    await page.get_by_role("button", name="Move …").click()
    dialog = page.get_by_role("dialog", name="Move v1")
    yield dialog


async def rehearse(dialog: Locator, endpoint: str = "c2-lan") -> None:
    await dialog.get_by_label("To", exact=True).select_option(endpoint)
    await dialog.get_by_role("button", name="Rehearse").click()


async def test_a_move_from_its_prediction_to_its_end(place: Place) -> None:
    async with place.window.user("operator", "/vms") as page:
        row = page.get_by_role("row").filter(has_text="v1")
        await expect(row).to_contain_text("running")
        await expect(row).to_contain_text("c1-lan")
        await row.get_by_role("link", name="v1").click()
        async with starting(page) as dialog:
            await dialog.get_by_role("button", name="Rehearse").click()
            await expect(dialog.get_by_role("alert")).to_have_text("Choose an endpoint.")
            await rehearse(dialog)
            await expect(dialog).to_contain_text("v1 would move to c2-lan.")
            await expect(dialog).to_contain_text("If its device were there:")
            assert await findings(page) == []
            moves = (await place.window.controller.get("/moves"))["items"]
            assert moves == [], "a rehearsal moves nothing"
            await dialog.get_by_role("button", name="Move now").click()
        await expect(page).to_have_url(re.compile("/moves/move-"))
        steps = page.get_by_role("list", name="Steps")
        facts = page.get_by_role("region", name="Facts")
        await expect(facts).to_contain_text("done")
        await expect(facts).to_contain_text("c2-lan 10.2.0.3")
        await expect(facts).to_contain_text("40 ms")
        for step, shown in (
            ("Copy memory", "488 KiB on the wire"),
            ("Switch over", "stalled for 40 ms"),
            ("Copy disk", "not needed"),
        ):
            await expect(steps.get_by_role("listitem").filter(has_text=step)).to_contain_text(shown)
        assert await findings(page) == []
        await facts.get_by_role("link", name="v1").click()
        await expect(page.get_by_text("At c2, c2-lan")).to_be_visible()
        await page.get_by_role("link", name="Its moves").click()
        await expect(page.get_by_role("table", name="Moves")).to_contain_text("done")


async def test_a_move_is_seen_as_it_goes_and_can_be_undone(place: Place) -> None:
    place.town.movers["c2"].deaf.add("prepare")
    name = await place.town.start()
    async with place.window.user("operator", f"/moves/{name}") as page:
        steps = page.get_by_role("list", name="Steps").get_by_role("listitem")
        await expect(steps.filter(has_text="Prepare")).to_contain_text("running")
        await expect(steps.filter(has_text="Copy memory")).to_contain_text("ahead")
        assert await findings(page) == []
        await page.get_by_role("button", name="Undo …").click()
        await page.get_by_role("dialog").get_by_role("button", name="Undo the move").click()
        await expect(page.get_by_role("region", name="Facts")).to_contain_text("undone")
        await expect(page.get_by_role("button", name="Undo …")).to_have_count(0)
    assert (await place.town.over(name))["at"] == "c1-lan"


async def test_a_failure_names_its_step_and_its_reason(place: Place) -> None:
    place.town.movers["c2"].broken = breaking("prepare", "there is no room for 256 MiB")
    name = await place.town.start()
    async with place.window.user("viewer", f"/moves/{name}") as page:
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("It has failed at the step “Prepare”")
        await expect(alert).to_contain_text("there is no room for 256 MiB")
        await expect(alert).to_contain_text("v1 is at c1-lan.")
        await expect(page.get_by_role("button", name="Undo …")).to_have_count(0)
        await page.goto("/moves?state=undone")
        await expect(page.get_by_role("table", name="Moves")).to_contain_text("undone")
        await page.get_by_label("State").select_option("done")
        await expect(page.get_by_text("No move fits these filters.")).to_be_visible()
        await page.goto("/moves/move-never")
        await expect(page.get_by_role("alert")).to_contain_text("It may have been removed meanwhile.")


async def test_a_move_is_scheduled_and_cancelled(place: Place) -> None:
    at = (now() + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M")
    async with place.window.user("operator", "/vms/v1") as page:
        async with starting(page) as dialog:
            await dialog.get_by_label("How").select_option("schedule")
            await dialog.get_by_label("Time here").fill("2020-01-01T00:00")
            await rehearse(dialog)
            await expect(dialog.get_by_role("alert")).to_have_text("Choose a time that is yet to come.")
            await dialog.get_by_label("Time here").fill(at)
            await dialog.get_by_role("button", name="Rehearse").click()
            await dialog.get_by_role("button", name="Schedule it").click()
        await expect(page).to_have_url(re.compile("view=scheduled"))
        row = page.get_by_role("row").filter(has_text="c2-lan")
        await expect(row).to_contain_text("waiting")
        await row.get_by_role("button", name=re.compile("^Cancel …")).click()
        await page.get_by_role("dialog").get_by_role("button", name="Cancel the move").click()
        await expect(row).to_contain_text("cancelled")


async def test_a_refusal_says_why(place: Place) -> None:
    """Another user has begun a move of the VM meanwhile."""
    place.town.movers["c2"].deaf.add("prepare")
    async with place.window.user("operator", "/vms/v1") as page, starting(page) as dialog:
        await rehearse(dialog)
        await expect(dialog.get_by_role("button", name="Move now")).to_be_enabled()
        name = await place.town.start()
        await dialog.get_by_role("button", name="Move now").click()
        await expect(dialog.get_by_role("alert")).to_contain_text(name)


async def test_on_a_phone(place: Place) -> None:
    await place.town.over(await place.town.start())
    async with place.window.user("operator", "/moves", viewport=PHONE) as page:
        sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        for path, shown in (("/vms", "c2"), ("/moves", "done"), ("/moves?view=scheduled", "No move is scheduled.")):
            await page.goto(path)
            await expect(page.get_by_role("main")).to_contain_text(shown)
            assert await page.evaluate(sideways) <= 0, path
            assert await findings(page) == [], path
        table = "one => one.scrollWidth - one.clientWidth"
        await page.goto("/moves")
        assert await page.get_by_role("table", name="Moves").evaluate(table) <= 0, "the list fits a phone"
        await page.get_by_role("cell").first.get_by_role("link", name="v1").click()
        await expect(page.get_by_role("list", name="Steps")).to_contain_text("Switch over")
        assert await page.evaluate(sideways) <= 0
        assert await findings(page) == []
        await page.goto("/vms/v1?to=c3-lan")
        await expect(page.get_by_role("region", name="What a move would cost")).to_contain_text("Takes")
        assert await page.evaluate(sideways) <= 0
        assert await findings(page) == []


async def test_a_tenant_sees_its_own_machines(place: Place) -> None:
    control = place.window.controller
    altered = await control.http.patch("/api/v1/endpoints/c1-lan", json={"tenant": "acme"})
    assert altered.status_code == 200, altered.text
    async with place.window.user("tenant", "/own/vms") as page:
        await expect(page.get_by_role("heading", level=1)).to_have_text("VMs and containers")
        await expect(page.get_by_text("At the endpoints of acme")).to_be_visible()
        await expect(page.get_by_role("row").filter(has_text="v1")).to_contain_text("running")
        assert await findings(page) == []
        await page.goto("/vms")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Not for this role")
