"""Attacks on a user of the UI, in a browser: scripts in names and texts that others set, forms and frames of other
sites."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from playwright.async_api import Browser, Error, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from controller.api.sessions import COOKIE
from tests.ui.browsing import visiting
from tests.ui.conftest import Window
from tests.ui.region import routes
from tests.unit.controller.fake_routeserver import serving

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]

SCRIPTS = (
    "<img src=x onerror=\"document.title='owned'\">",
    "<script>document.title='owned'</script>",
    "<svg onload=document.title='owned'>",
    "javascript:document.title='owned'",
    "'\"><a href=javascript:document.title='owned'>x</a>",
    "{@html '<b>'}${document.title='owned'}",
)
"""Texts that become scripts where a page takes text for markup."""

TEXT = " ".join(SCRIPTS)


async def unharmed(page: Page, *shown: str) -> None:
    """Check that the page shows these texts as texts, and has run none of them."""
    for text in shown:
        await expect(page.locator("body")).to_contain_text(text)
    await asyncio.sleep(0.2)
    assert await page.title() != "owned"
    assert await page.locator("body :is(img, script, iframe, object, embed, [onerror], [onload])").count() == 0
    assert await page.locator("a[href^='javascript']").count() == 0


async def test_scripts_in_names_and_texts_are_texts(window: Window) -> None:
    """Labels of a cloudlet, a pool's description, a device's name in an event, an agent's release, BGP's texts, the
    reason of a route server, a client's host name: whoever sets them."""
    control, script = window.controller, SCRIPTS[0]
    await control.http.patch("/api/v1/cloudlets/c1", json={"labels": {"city": script}})
    await control.post("/vcps", {"name": "red", "description": script})
    control.region.runtime.event_log.note("device-seen", script, f"device {TEXT} was seen at c1-lan")
    agent = await control.agent("c4", 4)
    await agent.lease(endpoint="c4-lan", mac="02:00:5e:00:00:09", hostname=script)
    hostile = routes(1, TEXT)[0]
    hostile |= {"attributes": {script: TEXT, "communities": [script]}, "details": {"filter": script}}
    window.server.routes = [hostile]
    async with window.user("admin") as page:
        await unharmed(page, f"device {script}", SCRIPTS[1])
        await page.goto("/activity?view=events&type=device-seen")
        await unharmed(page, f"device {script}")
        await page.get_by_role("cell").first.get_by_role("button").click()
        await unharmed(page, SCRIPTS[3])
        await page.goto("/cloudlets?q=" + "onerror")
        await unharmed(page, "city=" + script)
        await page.goto("/cloudlets/c1")
        await unharmed(page, script)
        await page.goto("/pools")
        await unharmed(page, script)
        await page.goto("/pools/red")
        await unharmed(page, script)
        await page.goto("/addresses/c4-lan?view=leases")
        await unharmed(page, script)
        await page.goto("/routes")
        await unharmed(page, script)
        await page.get_by_role("cell").first.get_by_role("button").click()
        await unharmed(page, SCRIPTS[3])


@pytest.mark.parametrize(
    "path",
    [
        "/cloudlets?q=<script>document.title='owned'</script>",
        "/cloudlets/<img src=x onerror=document.title='owned'>",
        "/add-cloudlet?name=<img src=x onerror=document.title='owned'>",
        "/pools/javascript:document.title='owned'",
        "/map?view=<b>&pool=<svg onload=document.title='owned'>&at=<img src=x onerror=document.title='owned'>",
        "/routes?prefix=<svg onload=document.title='owned'>&route=<b>",
        "/policy?view=history&before=<b>&after=<img src=x onerror=document.title='owned'>",
        "/activity?view=events&type=<svg onload=document.title='owned'>&row=<b>",
        "/addresses/<img src=x onerror=document.title='owned'>",
        "/addresses/c1-lan?view=leases&q=<script>document.title='owned'</script>",
        "/access?view=consents&state=<b>&q=<svg onload=document.title='owned'>",
        "/vms/web?to=<img src=x onerror=document.title='owned'>",
        "/moves/<img src=x onerror=document.title='owned'>",
        "/?sign-in=<img src=x onerror=document.title='owned'>",
        "/nowhere/<script>document.title='owned'</script>",
    ],
)
async def test_scripts_in_an_address_do_nothing(window: Window, path: str) -> None:
    async with window.user("viewer", path) as page:
        await page.get_by_role("heading", level=1).wait_for()
        await unharmed(page)


async def test_a_text_cannot_become_markup_at_all(window: Window) -> None:
    """Even code of the page cannot run what is not a file of the UI: the policy forbids it."""
    async with visiting(window.browser, window.url, ("TrustedScript", "TrustedHTML", "Content Security")) as page:
        await page.goto("/")
        inline = await page.evaluate(
            """async () => {
                const script = document.createElement('script');
                try { script.textContent = "document.title = 'owned'"; } catch { return 'refused'; }
                document.body.append(script);
                return document.title;
            }"""
        )
        assert inline == "refused"
        markup = (
            """() => { try { document.body.innerHTML = '<b>x</b>'; return 'taken'; } catch { return 'refused'; } }"""
        )
        assert await page.evaluate(markup) == "refused"


@asynccontextmanager
async def evil(target: str) -> AsyncIterator[str]:
    """Yield the URL of another site, with pages that attack the UI at `target`."""
    form = f"""<form action="{target}/api/v1/vcps" method="post" enctype="text/plain" id="f">
        <input name='{{"name":"owned","description":"' value='"}}'></form><script>f.submit()</script>"""
    fetched = f"""<script>
        fetch("{target}/api/v1/vcps", {{method: "POST", mode: "no-cors", credentials: "include",
          body: JSON.stringify({{name: "owned"}})}}).finally(() => document.title = "sent")</script>"""
    framed = f"""<title>frame</title><iframe src="{target}/" id="f"></iframe>"""
    pages = {"form": form, "fetch": fetched, "frame": framed}

    async def page(request: Request) -> Response:
        return HTMLResponse(pages[request.path_params["name"]])

    async with serving(Starlette(routes=[Route("/{name}", page)])) as url:
        yield url.replace("127.0.0.1", "localhost")


async def test_other_sites_cannot_use_a_session(window: Window) -> None:
    async with window.user("admin") as page, evil(window.url) as site:
        other = await page.context.new_page()
        for name in ("form", "fetch"):
            with suppress(Error):  # the form leads away while its page is being loaded
                await other.goto(f"{site}/{name}")
            await other.wait_for_load_state("networkidle")
        assert [one["name"] for one in (await window.controller.get("/vcps"))["items"]] == ["blue"]
        await page.reload()
        await expect(page.get_by_role("button", name="Sign out")).to_be_visible()


async def test_no_site_frames_the_ui(window: Window) -> None:
    async with window.user("admin") as page, evil(window.url) as site:
        other = await page.context.new_page()
        await other.goto(f"{site}/frame")
        await other.wait_for_load_state("networkidle")
        (frame,) = other.frames[1:]
        assert frame.url.startswith("chrome-error:"), frame.url


async def test_no_script_reads_the_session(window: Window) -> None:
    async with window.user("viewer") as page:
        assert await page.evaluate("document.cookie") == ""
        stored = "() => JSON.stringify([{...localStorage}, {...sessionStorage}])"
        assert "token" not in (await page.evaluate(stored)).lower()
        (cookie,) = await page.context.cookies(window.url)
        assert (cookie["name"], cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (
            COOKIE,
            True,
            True,
            "Strict",
        )


async def test_a_planted_session_does_not_become_the_user_s(browser: Browser, window: Window) -> None:
    token, planted = await window.token("viewer"), "p" * 43
    async with visiting(browser, window.url) as page:
        await page.context.add_cookies([{"name": COOKIE, "value": planted, "url": window.url, "secure": True}])
        await page.goto("/")
        await page.get_by_label("API token").fill(token)
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("button", name="Sign out").wait_for()
        (cookie,) = await page.context.cookies(window.url)
        assert cookie["value"] != planted
