"""Tunnels and certificates: both ends of a tunnel, alarms as they come, renewals, revocation; regions without them."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from controller.agents import tunnels as work
from controller.core.clock import now
from controller.trust import ceremony
from tests.ui.browsing import findings
from tests.ui.conftest import Open, Window
from tests.ui.test_attacks import SCRIPTS, unharmed
from tests.ui.test_everybody import SIZES, picture, settled
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.test_certificates import ask
from tests.unit.controller.test_tunnels import three, told, tunnel
from tests.unit.trust.requests import csr

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]

TITLE = "Tunnels and certificates"
CERTIFICATES = "/tunnels?view=certificates"
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Place:
    window: Window
    agents: list[FakeAgent]

    async def certify(self, number: int) -> str:
        """Have an agent get a certificate; return its serial number."""
        credential = self.agents[number - 1].headers["Authorization"].removeprefix("Bearer ")
        answer = await ask(self.window.controller, credential, csr(f"c{number}"))
        assert answer.status_code == 200, answer.text
        found = await self.window.controller.get("/certificates", cloudlet=f"c{number}")
        return str(found["items"][-1]["serial"])

    async def tell(self, one: str = "up", other: str = "up", age: float = 60.0) -> None:
        """Have c1 and c2 report their tunnel."""
        keys = {"ike": "AES_GCM_16_256/PRF_HMAC_SHA2_256/CURVE_25519", "keyed": 10, "rekey": 3000}
        why = {"why": "the peer does not answer"}
        control = self.window.controller
        for agent, peer, state in ((self.agents[0], "c2", one), (self.agents[1], "c1", other)):
            more = keys | {"esp": "AES_GCM_16_256", "bytes_in": 5 << 20} if state == "up" else why
            await told(control, agent, tunnel(peer, state, age, **more))


@pytest.fixture
async def place(open_window: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """A region that encrypts: c1 and c2 share a pool and have a tunnel."""
    monkeypatch.setattr(work, "PAUSE", 0.01)
    ceremony.init(tmp_path / "authority", "test", now())
    async with open_window(filled=False, authority=tmp_path / "authority") as window:
        found = Place(window, await three(window.controller))
        await found.tell()
        yield found


async def live(page: Page) -> None:
    await expect(page.get_by_text("live", exact=True)).to_be_visible()


async def test_a_tunnel_that_is_lost_shows_at_both_ends(place: Place) -> None:
    async with place.window.user("viewer", "/tunnels") as page:
        table = page.get_by_role("table", name="Tunnels")
        rows = table.get_by_role("row")
        await live(page)
        await expect(rows).to_have_count(3)
        await expect(rows.nth(1)).to_contain_text("5 MiB")
        await table.get_by_role("button", name="c1").click()
        drawer = page.get_by_role("complementary", name="c1 ↔ c2")
        await expect(drawer).to_contain_text("All traffic between these two cloudlets is encrypted")
        await expect(drawer.get_by_role("row", name=re.compile("^Traffic"))).to_contain_text("AES_GCM_16_256")
        assert await findings(page) == []

        await place.tell("down", "connecting", 30.0)
        await place.window.controller.region.agents.tunnels.sweep()
        await expect(rows.nth(1)).to_contain_text("down, alarm")
        await expect(rows.nth(2)).to_contain_text("connecting, alarm")
        await expect(drawer).to_contain_text("nothing goes in the clear")
        await expect(drawer.get_by_role("row", name=re.compile("^Why"))).to_contain_text("the peer does not answer")
        await expect(page).to_have_url(re.compile("from=c1&to=c2"))
        await page.keyboard.press("Escape")
        await expect(drawer).to_have_count(0)
        await expect(table.get_by_role("button", name="c1")).to_be_focused()

        await page.get_by_label("State").select_option("down")
        await expect(rows).to_have_count(2)
        await page.get_by_label("State").select_option("")
        await page.get_by_label("Alarm").select_option("no")
        await expect(page.get_by_text("No tunnel fits these filters.")).to_be_visible()
        await page.get_by_label("Alarm").select_option("yes")
        await expect(page).to_have_url(re.compile("alarm=yes$"))
        await expect(rows).to_have_count(3)
        await page.goto("/")
        await page.get_by_role("link", name=re.compile("tunnel")).first.click()
        await expect(rows).to_have_count(3)


async def test_one_end_that_does_not_encrypt_is_named(place: Place) -> None:
    agent = place.agents[1]
    async with place.window.user("viewer", "/tunnels?from=c1&to=c2") as page:
        drawer = page.get_by_role("complementary")
        await expect(drawer).to_contain_text("is encrypted")
        await told(place.window.controller, agent)
        await page.reload()
        await expect(drawer).to_contain_text("c2 reports no tunnel: it does not encrypt")
        await page.goto("/tunnels?from=c1&to=c3")
        await expect(drawer).to_contain_text("Neither end reports this tunnel any more")


async def test_a_region_without_encryption_says_so(window: Window) -> None:
    async with window.user("viewer", "/tunnels") as page:
        await settled(page, TITLE)
        await expect(page.get_by_text("this region does not encrypt")).to_be_visible()
        await expect(page.get_by_text("docs/network/ipsec.md")).to_be_visible()
        await page.get_by_role("link", name="Certificates", exact=True).click()
        await expect(page.get_by_text("This controller issues no certificates.")).to_be_visible()
        await expect(page.get_by_text("docs/operate/identity.md")).to_be_visible()
        assert await page.get_by_role("alert").count() == 0


async def test_renewals_show_as_they_come(place: Place) -> None:
    await place.certify(1)
    async with place.window.user("viewer", CERTIFICATES) as page:
        rows = page.get_by_role("table", name="Certificates").get_by_role("row")
        await live(page)
        await expect(rows).to_have_count(2)
        await expect(rows.nth(1)).to_contain_text(re.compile("good.*(in 24 hr|tomorrow)", re.S))
        await expect(rows.nth(1)).to_contain_text("present")
        await place.certify(2)
        await expect(rows).to_have_count(3)
        await place.certify(1)
        await page.get_by_label("Which").select_option("all")
        await expect(rows).to_have_count(4)
        await expect(rows.nth(1)).to_contain_text("good")
        await expect(rows.nth(2)).to_contain_text("renewed")
        await page.get_by_label("Which").select_option("former")
        await expect(page.get_by_text("a rotation can be finished")).to_be_visible()
        await page.get_by_label("Which").select_option("all")
        await page.get_by_role("searchbox", name="Cloudlet").fill("c2")
        await page.keyboard.press("Enter")
        await expect(rows).to_have_count(2)
        authority = page.get_by_role("region", name="Authority")
        await expect(authority).to_contain_text("24:00:00")
        await authority.get_by_text("Revocation list (PEM)").click()
        await expect(authority).to_contain_text("BEGIN X509 CRL")
        await rows.nth(1).get_by_role("button", name="c2").click()
        drawer = page.get_by_role("complementary", name="Certificate of c2")
        await expect(drawer.get_by_role("link", name="c2", exact=True)).to_be_visible()
        await expect(drawer.get_by_role("button", name="Revoke …")).to_have_count(0)


async def test_an_operator_revokes_a_certificate(place: Place) -> None:
    await place.certify(1)
    serial = await place.certify(1)
    async with place.window.user("operator", CERTIFICATES) as page:
        rows = page.get_by_role("table", name="Certificates").get_by_role("row")
        await rows.nth(1).get_by_role("button", name="c1").click()
        drawer = page.get_by_role("complementary", name="Certificate of c1")
        await drawer.get_by_role("button", name="Revoke …").click()
        dialog = page.get_by_role("dialog", name="Revoke the certificate of c1?")
        await expect(dialog).to_contain_text("c1 is cut off at once, and this cannot be undone.")
        await expect(dialog).to_contain_text("weft cloudlet token c1")
        assert await findings(page) == []
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        await expect(drawer).to_be_visible()
        assert (await place.window.controller.get(f"/certificates/{serial}"))["standing"] == "good"
        await drawer.get_by_role("button", name="Revoke …").click()
        await dialog.get_by_label("Reason").select_option("superseded")
        await dialog.get_by_role("button", name="Revoke it").click()
        await expect(dialog).to_have_count(0)
        await expect(drawer).to_contain_text("Replaced (superseded)")
        await expect(drawer.get_by_role("button", name="Revoke …")).to_have_count(0)
        await expect(rows.nth(1)).to_contain_text("revoked")
        await page.goto(CERTIFICATES + "&which=revoked")
        await expect(rows).to_have_count(3)
    found = await place.window.controller.get("/certificates")
    assert {(one["standing"], one["reason"]) for one in found["items"]} == {("revoked", "superseded")}


async def test_a_refusal_says_why(place: Place) -> None:
    """Another user has revoked it meanwhile."""
    serial = await place.certify(1)
    async with place.window.user("admin", f"{CERTIFICATES}&certificate={serial}") as page:
        await page.get_by_role("button", name="Revoke …").click()
        dialog = page.get_by_role("dialog")
        await place.window.controller.post(f"/certificates/{serial}/revoke", status=200)
        await dialog.get_by_role("button", name="Revoke it").click()
        await expect(dialog.get_by_role("alert")).to_contain_text("it was revoked at")
        await page.goto(f"{CERTIFICATES}&certificate={'0' * 40}")
        await expect(page.get_by_role("complementary").get_by_role("alert")).to_contain_text("0" * 40)


async def test_hostile_texts_stay_texts(place: Place) -> None:
    script = SCRIPTS[0]
    hostile = tunnel("c2", "down", 1.0, why=" ".join(SCRIPTS[:3]), esp=SCRIPTS[1], ike=SCRIPTS[2])
    await told(place.window.controller, place.agents[0], hostile)
    async with place.window.user("admin") as page:
        await page.goto("/tunnels")
        await unharmed(page, script)
        await page.goto("/tunnels?from=c1&to=c2")
        await unharmed(page, *SCRIPTS[:3])
        await page.goto("/tunnels?from=c1&to=c1")
        await expect(page.get_by_role("complementary")).to_contain_text("Neither end reports this tunnel")
        for path in (
            f"/tunnels?cloudlet={script}&from={script}&to={script}",
            f"{CERTIFICATES}&cloudlet={script}&certificate={script}",
        ):
            await page.goto(path)
            await expect(page.get_by_role("alert").first).to_be_visible()
            await unharmed(page)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_everybody_can_use_them(place: Place, scheme: str, size: str) -> None:
    serial = await place.certify(1)
    await place.tell("up", "down")
    async with place.window.user("admin", color_scheme=scheme, viewport=SIZES[size]) as page:
        for name, path, shown in (
            ("tunnel-list", "/tunnels", "down"),
            ("tunnel", "/tunnels?from=c1&to=c2", "The tunnel is not up at both ends"),
            ("certificate-list", CERTIFICATES, "Authority"),
            ("certificate", f"{CERTIFICATES}&certificate={serial}", "Fingerprint"),
        ):
            await page.goto(path)
            await settled(page, TITLE)
            await expect(page.locator("body")).to_contain_text(shown)
            await picture(page, f"{name}-{scheme}-{size}")
            assert await findings(page) == [], path
            assert await page.evaluate(SIDEWAYS) <= 0, path
