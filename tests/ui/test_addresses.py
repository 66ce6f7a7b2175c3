"""LANs and their addresses: how full they are, the plan as a strip, acts on leases, reservations and static hosts."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Locator, Page, expect

from tests.ui.browsing import findings
from tests.ui.conftest import Window
from tests.unit.controller.test_declines import declined
from tests.unit.controller.test_delegations import Ledger, mac

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]

IN_USE = "Pairs in use or reserved"


@dataclass
class Place:
    window: Window
    ledger: Ledger


@pytest.fixture
async def place(window: Window) -> Place:
    """A LAN whose agent has leased m4 and its VM a pair, and a phone the even address of another."""
    control = window.controller
    ledger = Ledger(await control.agent("c4", 4), "c4-lan")
    await control.post("/devices", {"name": "m4", "mac": mac(4), "vm": {"mac": mac(5)}})
    await ledger.say(blocks=[], want=1)
    await ledger.say(entries=[ledger.entry(0, 4), ledger.entry(0, 5, "vm"), ledger.entry(1, 9, hostname="phone")])
    return Place(window, ledger)


@pytest.fixture
async def lease(window: Window) -> AsyncIterator[dict[str, str]]:
    """A lease that an operator has granted."""
    yield await window.controller.post("/leases", {"endpoint": "c3-lan", "device": "m1", "kind": "md"})


async def sure(page: Page, button: str) -> Locator:
    """Press a button of the dialog that asks; return the dialog."""
    dialog = page.get_by_role("dialog")
    assert await findings(page) == []
    await dialog.get_by_role("button", name=button, exact=True).click()
    return dialog


async def test_lans_are_searched_and_tell_how_full_they_are(place: Place) -> None:
    control = place.window.controller
    await control.cloudlet("c5", 5, prefix="10.5.0.0/29")
    for name in ("m1", "m4"):
        await control.post("/leases", {"endpoint": "c5-lan", "device": name, "kind": "md"})
    async with place.window.user("viewer", "/addresses") as page:
        table = page.get_by_role("table", name="Addresses")
        row = table.get_by_role("row").filter(has_text="c4-lan")
        for shown in ("10.4.0.0/24", "has room", "126", "too few days"):
            await expect(row).to_contain_text(shown)
        await expect(table.get_by_role("row").filter(has_text="c5-lan")).to_contain_text("No pair is left.")
        await page.get_by_role("searchbox").fill("10.4")
        await expect(page).to_have_url(re.compile(r"\?q=10\.4$"))
        await expect(table.get_by_role("row")).to_have_count(2)
        await page.get_by_label("State").select_option("full")
        await expect(page.get_by_text("No LAN fits the search.")).to_be_visible()
        await page.get_by_role("searchbox").fill("")
        await table.get_by_role("link", name="c5-lan").click()
        await expect(page.get_by_role("region", name="Use", exact=True)).to_contain_text("2 of 2")
        await page.goto("/addresses/nowhere")
        await expect(page.get_by_role("alert")).to_contain_text("nowhere")


async def test_the_plan_follows_what_happens(place: Place) -> None:
    ledger = place.ledger
    async with place.window.user("viewer", "/addresses/c4-lan") as page:
        table, strip = page.get_by_role("table", name=IN_USE), page.get_by_role("img", name="address plan")
        row = table.get_by_role("row").filter(has_text="10.4.0.2")
        for shown in ("10.4.0.3", "device", "VM", "m4"):
            await expect(row).to_contain_text(shown)
        await expect(strip).to_have_accessible_name(re.compile("2 of 126 pairs are in use"))
        legend = page.get_by_role("list", name=re.compile("^Signs"))
        for sign in ("device 2", "VM 1", "static host 0"):
            await expect(legend.get_by_role("listitem").filter(has_text=sign)).to_have_count(1)
        await strip.hover(position={"x": 5, "y": 5})
        await expect(page.get_by_text("10.4.0.3: device, VM (m4)")).to_be_visible()
        await expect(page.get_by_text("live", exact=True)).to_be_visible()
        await ledger.say(entries=[ledger.entry(2, 7)])
        await expect(table).to_contain_text("10.4.0.6")
        await ledger.say(declined=[declined(2, 7)], entries=[ledger.entry(3, 8)])
        await expect(table.get_by_role("row").filter(has_text="10.4.0.6")).to_contain_text("by an unknown machine")
        await expect(strip).to_have_accessible_name(re.compile("4 of 126"))
        assert await findings(page) == []
        await page.get_by_role("searchbox").fill("phone")
        await expect(table.get_by_role("row")).to_have_count(2)
        await table.get_by_role("link", name="10.4.0.4").click()
        await expect(page.get_by_role("table", name="Leases")).to_contain_text("phone")
        await page.get_by_role("link", name="Delegations").click()
        await expect(page.get_by_role("row").filter(has_text=ledger.incarnation)).to_contain_text("in use")
        assert await findings(page) == []


async def test_a_large_plan_is_few_elements(window: Window) -> None:
    await window.controller.cloudlet("c6", 6, prefix="10.64.0.0/16")
    hosts = [{"name": f"h{n}", "address": f"10.64.{n // 100}.{2 * (n % 100) + 2}"} for n in range(400)]
    await window.controller.post("/addresses/c6-lan/statics", {"hosts": hosts}, status=200)
    async with window.user("viewer", "/addresses/c6-lan") as page:
        await expect(page.get_by_text(re.compile(r"A cell stands for \d+ pairs"))).to_be_visible()
        await expect(page.get_by_role("img", name="400 of 32,766 pairs")).to_be_visible()
        assert await page.evaluate("document.querySelectorAll('*').length") < 1000


async def test_an_operator_ends_a_lease(window: Window, lease: dict[str, str]) -> None:
    async with window.user("operator", "/addresses/c3-lan?view=leases") as page:
        await page.get_by_role("button", name=f"End … {lease['address']}").click()
        await expect(page.get_by_role("dialog")).to_contain_text("m1 is not told")
        dialog = await sure(page, "End the lease")
        await expect(dialog).to_have_count(0)
        await expect(page.get_by_text("There is no lease.")).to_be_visible()
    assert (await window.controller.get("/leases", endpoint="c3-lan"))["items"] == []


async def test_a_lease_that_another_has_ended_is_told(window: Window, lease: dict[str, str]) -> None:
    async with window.user("operator", "/addresses/c3-lan?view=leases") as page:
        await page.get_by_role("button", name=f"End … {lease['address']}").click()
        await window.controller.delete(f"/leases/{lease['id']}", status=204)
        dialog = await sure(page, "End the lease")
        await expect(dialog.get_by_role("alert")).to_contain_text("It may have been removed meanwhile.")
        await page.keyboard.press("Escape")
        await expect(page.get_by_text("There is no lease.")).to_be_visible()


async def test_a_pair_is_reserved_and_given_up(place: Place) -> None:
    async with place.window.user("network-engineer", "/addresses/c4-lan?view=reservations") as page:
        await page.get_by_role("button", name="Reserve …").click()
        dialog = page.get_by_role("dialog")
        device, make = dialog.get_by_label("Device"), dialog.get_by_role("button", name="Reserve", exact=True)
        await make.click()
        await expect(dialog.get_by_role("alert")).to_have_text("Name the device.")
        await device.fill("m44")
        await dialog.get_by_label("For").select_option("86400")
        await make.click()
        await expect(dialog.get_by_role("alert")).to_contain_text("m44")
        await expect(device).to_have_value("m44")
        assert await findings(page) == []
        await device.fill("m4")
        await page.keyboard.press("Enter")
        await expect(dialog).to_have_count(0)
        await expect(page.get_by_text("10.4.0.2 and 10.4.0.3 are reserved for m4")).to_be_visible()
        await page.get_by_role("button", name="Give up … m4").click()
        await sure(page, "Give it up")
        await expect(page.get_by_text("No pair is reserved.")).to_be_visible()


async def test_the_policy_s_reservation_is_shown_and_stays(place: Place) -> None:
    lans = "addresses:\n  lans:\n    c4-lan: {reservations: {m4: 10.4.0.20}}\n"
    policy = "apiVersion: weft/v1\nvcps:\n  blue: {members: [c1-lan, c2-lan]}\n" + lans
    headers = {"Content-Type": "application/yaml"}
    applied = await place.window.controller.http.post("/api/v1/policy/apply", content=policy, headers=headers)
    assert applied.status_code == 200, applied.text
    async with place.window.user("admin", "/addresses/c4-lan?view=reservations") as page:
        row = page.get_by_role("row").filter(has_text="10.4.0.20")
        for shown in ("m4", "policy", "for good", "not yet: the device has 10.4.0.2"):
            await expect(row).to_contain_text(shown)
        await expect(row.get_by_role("button")).to_have_count(0)


async def test_static_hosts_are_imported_and_removed(place: Place) -> None:
    async with place.window.user("network-engineer", "/addresses/c4-lan?view=statics") as page:
        await page.get_by_role("button", name="Import …").click()
        dialog = page.get_by_role("dialog")
        text, alert = dialog.get_by_label("Hosts", exact=True), dialog.get_by_role("alert")
        check, take = dialog.get_by_role("button", name="Check"), dialog.get_by_role("button", name="Take them over")
        await text.fill("10.4.0.9,printer")
        await check.click()
        await expect(alert).to_contain_text("Line 1 does not name the columns")
        assert await findings(page) == []
        table = f"address,name,mac\n10.4.0.9,printer,{mac(77)}\n10.4.0.2,nas\n"
        await text.fill(table)
        await check.click()
        await expect(dialog).to_contain_text("all or none: 2.")
        await take.click()
        await expect(alert).to_contain_text(re.compile(r"3:1.*10\.4\.0\.[23] is leased to m4"))
        assert await findings(page) == []
        await dialog.get_by_role("button", name="Back").click()
        await expect(text).to_have_value(table)
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        await page.get_by_role("button", name="Import …").click()
        await expect(text).to_have_value(table)
        await text.fill("host Printer { hardware ethernet 02:00:5E:00:00:4D; fixed-address 10.4.0.9; }")
        await check.click()
        await take.click()
        await expect(dialog).to_have_count(0)
        await expect(page.get_by_text("Hosts taken over: 1. There already: 0.")).to_be_visible()
        await expect(page.get_by_role("row").filter(has_text="10.4.0.9")).to_contain_text(mac(77))
        await page.get_by_role("button", name="Remove … printer").click()
        await sure(page, "Remove")
        await expect(page.get_by_text("There is no static host.")).to_be_visible()


@pytest.mark.parametrize(
    ("role", "offered"), [("viewer", ()), ("network-engineer", ("Reserve …", "Import …")), ("operator", ("End …",))]
)
async def test_a_role_is_offered_what_it_may_do(place: Place, role: str, offered: tuple[str, ...]) -> None:
    acts = {"leases": "End …", "reservations": "Reserve …", "statics": "Import …"}
    wanted = {*offered, *(("Reserve …", "Import …") if role == "operator" else ())}
    async with place.window.user(role, "/addresses/c4-lan") as page:
        for view, act in acts.items():
            await page.goto(f"/addresses/c4-lan?view={view}")
            await expect(page.locator("[role=table], .empty").first).to_be_visible()
            assert (await page.get_by_role("button", name=act).count() > 0) is (act in wanted), act
