"""`make bench-ui`: the web UI of a large region beside that of an empty one, by the browser's clock. Writes
build/bench-ui.json and docs/reports/ui.md."""

import asyncio
import json
import os
import shutil
import statistics
import sys
import textwrap
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from playwright.async_api import Page

from controller.server import serving
from tests.house.imports import ROOT
from tests.ui import large_region
from tests.ui.conftest import Open, Window
from tests.ui.large_route_server import beside

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

TIMES = int(os.environ.get("WEFT_BENCH_TIMES", "7"))
FIRST_VIEW, STALL = 1500.0, 100.0
"""Bounds in milliseconds: from the start of the navigation to the content, and between two frames."""

ABOUT = """Made by `make bench-ui`; do not edit. {size} after an empty region,
{times} times each, {cores} cores for browser and controller. The routes are those of a fake route server, a process of
its own; controller, database and pages are real. Milliseconds by the browser's clock: first view, from the start of the
navigation to the content; scroll and search, the longest time between two frames. Bounds: {view:.0f} and {stall:.0f} in
every run."""

CONTENT = {
    "/": ".figures",
    "/cloudlets": "[data-index], .empty",
    "/pools": "[data-index], .empty",
    "/map": "[data-node], .empty",
    "/map?view=pools": "[data-node], .empty",
    "/activity": "[data-index], .empty",
    "/routes": "[data-index], .empty",
}
"""Pages, and what each is for."""

SCROLLED = ("/cloudlets", "/routes")
SEARCHED = {"/cloudlets": "town-7 edge-02", "/pools": "edge-0207"}

WATCH = """(() => {
  const wanted = window.name;
  window.shown = null;
  const look = () => {
    if (window.shown === null && wanted && document.querySelector(wanted)) {
      requestAnimationFrame(() => (window.shown ??= performance.now()));
    }
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
})()"""

SCROLL = """async () => {
  const table = document.querySelector('[role=table]');
  let [worst, last] = [0, performance.now()];
  for (let step = 0; table && step < 120; step += 1) {
    table.scrollTop += 240;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    [worst, last] = [Math.max(worst, now - last), now];
  }
  return worst;
}"""

BEGIN = """() => {
  window.worst = 0;
  let last = performance.now();
  const frame = () => {
    const now = performance.now();
    window.worst = Math.max(window.worst, now - last);
    last = now;
    window.watching = requestAnimationFrame(frame);
  };
  window.watching = requestAnimationFrame(frame);
}"""

END = "() => { cancelAnimationFrame(window.watching); return window.worst; }"


@dataclass(frozen=True)
class Figure:
    """Milliseconds of one act at one page, the median and the worst of all runs."""

    page: str
    act: str
    empty: float
    large: float
    worst: float

    @property
    def holds(self) -> bool:
        return self.worst <= (FIRST_VIEW if self.act == "first view" else STALL)

    @property
    def ratio(self) -> str:
        """The large region's figure over the empty one's, where there is anything to scroll."""
        return f"{self.large / self.empty:.1f}" if self.empty >= 1 else "-"


async def first_view(page: Page, path: str) -> float:
    """Return the time from the start of a navigation to the page's content."""
    await page.evaluate("wanted => { window.name = wanted }", CONTENT[path])
    await page.goto(path)
    async with asyncio.timeout(60):
        while (shown := await page.evaluate("window.shown")) is None:  # noqa: ASYNC110 - its policy admits no other way
            await asyncio.sleep(0.02)
    return float(shown)


async def scroll(page: Page, path: str) -> float:
    """Return the longest time between two frames while a list is scrolled."""
    await first_view(page, path)
    return float(await page.evaluate(SCROLL))


async def search(page: Page, path: str) -> float:
    """Return the longest time between two frames while a user types a search."""
    await first_view(page, path)
    await page.get_by_role("searchbox").focus()
    await page.evaluate(BEGIN)
    await page.keyboard.type(SEARCHED[path], delay=60)
    return float(await page.evaluate(END))


Act = Callable[[Page, str], Awaitable[float]]
ACTS: list[tuple[str, Act, list[str]]] = [
    ("first view", first_view, list(CONTENT)),
    ("scroll", scroll, list(SCROLLED)),
    ("search", search, list(SEARCHED)),
]


async def measured(window: Window) -> dict[tuple[str, str], list[float]]:
    """Return the milliseconds of all runs, by page and act."""
    found = {}
    async with window.user("viewer") as page:
        await page.add_init_script(WATCH)
        for act, measure, paths in ACTS:
            for path in paths:
                found[path, act] = [await measure(page, path) for _ in range(TIMES + 1)][1:]
                print(f"{path}, {act}: {statistics.median(found[path, act]):.0f} ms", flush=True)
    return found


async def test_figures(open_window: Open, migrated: Path, tmp_path: Path) -> None:
    """The regions come one after the other: their controllers would share an interpreter."""
    sys.setswitchinterval(serving.SWITCH)  # as a controller's own process does
    async with open_window(filled=False) as empty:
        little = await measured(empty)
    database = f"sqlite+aiosqlite:///{shutil.copyfile(migrated, tmp_path / 'large.db')}"
    async with beside() as server, open_window(filled=False, server=server, database_url=database) as large:
        await large_region.fill(large.controller)
        much = await measured(large)
    figures = [
        Figure(path, act, statistics.median(little[path, act]), statistics.median(runs), max(runs))
        for (path, act), runs in much.items()
    ]
    write(figures)
    assert all(figure.holds for figure in figures), [figure for figure in figures if not figure.holds]


def write(figures: list[Figure]) -> None:
    """Write the data and the page."""
    (ROOT / "build/bench-ui.json").write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")
    lines = [
        f"| `{one.page}` | {one.act} | {one.empty:.0f} | {one.large:.0f} | {one.ratio} | {one.worst:.0f} | "
        f"{'yes' if one.holds else 'no'} |"
        for one in figures
    ]
    size = f"{large_region.CLOUDLETS:,} cloudlets in {large_region.POOLS} pools and {large_region.ROUTES:,} routes"
    about = ABOUT.format(size=size, times=TIMES, cores=os.cpu_count(), view=FIRST_VIEW, stall=STALL)
    head = "| page | act | empty | large | ratio | worst | holds |\n| --- | --- | --- | --- | --- | --- | --- |"
    page = ["# The web UI of a large region, measured", "", textwrap.fill(about, 124), "", head, *lines]
    (ROOT / "docs/reports/ui.md").write_text("\n".join(page) + "\n")
