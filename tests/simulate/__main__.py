"""`make simulate`: a region that grows to 100,000 cloudlets and 1,000,000 devices, measured at several sizes, on SQLite
and on PostgreSQL. SIZE=1000 is for a quick look."""

import argparse
import asyncio
import gc
import os
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from controller.core.intent import Intent
from tests.simulate import measures
from tests.simulate.figures import Figure, Figures, machine, resident_mb
from tests.simulate.page import publish
from tests.simulate.towns import POLICY, RULES, grown, placed
from tests.simulate.world import controller, fill, postgresql

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
DATABASES = ("sqlite", "postgresql")


def main() -> int:
    """Exit codes: 0 done, 1 something went wrong, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES[-1], help="cloudlets at the end [100000]")
    parser.add_argument("--databases", default=",".join(DATABASES), help="which [sqlite,postgresql]")
    parser.add_argument("--often", type=int, default=40, help="how often each single thing is done [40]")
    parser.add_argument("--output", type=Path, default=Path("build/simulate.json"), help="figures as JSON")
    parser.add_argument("--from", dest="kept", type=Path, help="makes the page from kept figures, and measures nothing")
    parser.add_argument("--document", type=Path, help="figures as a Markdown page, with a plot beside it")
    arguments = parser.parse_args()
    wanted = arguments.databases.split(",")
    if arguments.size < 20 or not set(wanted) <= set(DATABASES):
        parser.error("--size: at least 20; --databases: sqlite, postgresql, or both")
    if arguments.kept:
        figures = Figures.read(arguments.kept)
    else:
        figures = Figures(machine(), f"{os.getloadavg()[0]:.1f}", " ".join(["python -m tests.simulate", *sys.argv[1:]]))
        try:
            sizes = [*(size for size in SIZES if size < arguments.size), arguments.size]
            run(figures, sizes, wanted, arguments.often, arguments.output)
        except measures.Failed as failed:
            print(f"failed: {failed}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 130
    if arguments.document:
        publish(arguments.document, figures)
    return 0


def run(figures: Figures, sizes: list[int], wanted: list[str], often: int, output: Path) -> None:
    """Measure every database at every size. Only the figures remain; they are saved after each measurement."""
    started = time.monotonic()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="weft-simulate-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        urls = {}
        for database in wanted:
            sqlite = f"sqlite+aiosqlite:///{folder}/weft.db"
            urls[database] = sqlite if database == "sqlite" else stack.enter_context(postgresql())

        def say(size: int, what: str) -> None:
            print(f"{time.monotonic() - started:6.0f} s  {size:7,} cloudlets  {what}", flush=True)

        before = Intent(policy=RULES)
        for size in sizes:
            numbers = range(len(before.cloudlets), size)
            intent = placed(grown(before, numbers.start, numbers.stop), numbers)
            say(size, f"{len(intent.vcps):,} pools by proximity")
            figures.figures.append(measures.placing(intent, often * 10))
            for database, url in urls.items():
                figures_of = asyncio.run(measured(database, url, before, intent, numbers, folder, often))
                figures.figures += figures_of[0]
                figures.state += figures_of[1]
                say(size, f"{database}: " + ", ".join(f"{f.step} {f.p50:.3g} ms" for f in figures_of[0]))
            before = intent
            del intent
            gc.collect()
            figures.seconds = round(time.monotonic() - started)
            figures.write(output)


async def measured(
    database: str, url: str, before: Intent, intent: Intent, numbers: range, folder: Path, often: int
) -> tuple[list[Figure], list[tuple[int, str, str, float]]]:
    """Fill one database to one size, start a controller on it, and measure."""
    size = len(intent.cloudlets)
    started = time.perf_counter()
    if numbers.start == 0:
        async with controller(database, url, 0, folder) as (world, _):
            answer = await world.http.post(
                "/api/v1/policy/apply", content=POLICY, headers={"Content-Type": measures.YAML}
            )
            assert answer.status_code == 200, answer.text
    await fill(url, before, intent, numbers)
    state: list[tuple[int, str, str, float]] = [(size, database, "fill", round(time.perf_counter() - started, 1))]
    async with controller(database, url, size, folder) as (world, took):
        state += [(size, database, "start", round(took)), (size, database, "resident", resident_mb())]
        found = [await measures.enrolment(world, often), await measures.farewell(world, often)]
        found += await measures.joins(world, often)
        found += [await measures.leases(world, min(often * 5, size))]
        found += [await measures.reports(world, often * 5)]
        found += [await measures.policy(world, verb, 3 if size < 30_000 else 1) for verb in ("check", "plan")]
    return found, state


if __name__ == "__main__":
    sys.exit(main())
