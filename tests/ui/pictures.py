"""`make screenshots`: pictures of the web UI for the README and the manual, of the demo's first region. Real parts, in
Debian's Chromium; the pictures go to docs/pictures."""

import asyncio
import os
import sys

from playwright.async_api import Page, expect

from lab import web_ui
from lab.paths import ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Rest
from tests.ui.browsing import browsing, sign_in, visiting

FOLDER = ROOT / "docs/pictures"
PICTURES = {"map": "/map", "pools": "/map?view=pools"}
"""Pages by the picture's name. The README and the manual show each of them."""

SIZE = {"width": 1280, "height": 800}


async def taken(page: Page, name: str, path: str) -> None:
    """Take a picture of a page when nothing is loaded any more."""
    await page.goto(path)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.locator("[aria-busy=true], .loading")).to_have_count(0, timeout=30_000)
    await page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => 0)))")
    await page.screenshot(path=FOLDER / f"{name}.png")
    print(f"   {name}.png", flush=True)


async def take(url: str, token: str) -> None:
    """Take all pictures as an administrator."""
    async with browsing() as browser, visiting(browser, url, viewport=SIZE, color_scheme="light") as page:
        await sign_in(page, token)
        for name, path in PICTURES.items():
            await taken(page, name, path)


def main() -> int:
    """Build the region, take the pictures, and remove it."""
    if os.geteuid() != 0:
        print("the lab makes network namespaces; run this as root", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    region = Region.load(ROOT / "lab/topologies/demo.yaml")
    with region.occupied(print), Rest(timeout=120) as rest:
        for phase in (region.build, region.enrol, region.apply_policy, region.lease, region.open):
            phase(print)
        rest.post("/vcps/blue/members", {"endpoint": "c5-lan"})
        names = {cloudlet.name for cloudlet in region.topology.cloudlets}
        until(lambda: {one["cloudlet"] for one in rest.items("/neighbours")} == names, "all have measured", 120)
        asyncio.run(take(web_ui.address() or "", web_ui.TOKEN.read_text().strip()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
