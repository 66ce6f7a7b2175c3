"""Makes moves by each way, and says by which one a page went wrong or a guest died: `make verify-memory`."""

import argparse
import time
from pathlib import Path

from lab import measurements
from lab.guests.build import build
from lab.paths import GUESTS
from lab.program import run
from lab.verify_memory import page
from lab.verify_memory.trial import Compared, trial
from lab.verify_memory.ways import ALL, chosen


def main() -> int:
    """Run the moves. Exit code 1: a page was wrong, or a guest failed; 2: no such way."""
    parser = argparse.ArgumentParser(prog="make verify-memory", description=__doc__)
    parser.add_argument("--way", nargs="*", default=["*"], help="names of ways, as shell patterns [*]")
    parser.add_argument("--list", action="store_true", help="only says which ways those are")
    parser.add_argument("--moves", type=int, default=100, help="by each way [100]")
    parser.add_argument("--missing", action="store_true", help="as many as --output has less than --moves")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begins no further move after so long")
    parser.add_argument("--hold", type=float, default=0.2, help="seconds between memory and switchover [0.2]")
    parser.add_argument(
        "--output", type=Path, default=Path("docs/reports/verify-memory.json"), help="every move, as JSON"
    )
    parser.add_argument("--document", type=Path, help="a page whose table is replaced")
    arguments = parser.parse_args()
    if arguments.document and not arguments.document.exists():
        parser.error(f"--document {arguments.document}: there is no such page")
    ways = chosen(arguments.way or ["*"])
    if not ways:
        parser.error(f"none of the {len(ALL)} ways is called so")
    if arguments.list:
        print("\n".join(way.name for way in ways))
        return 0
    build(GUESTS)
    earlier = measurements.kept(Compared, arguments.output)
    found, deadline = list[Compared](), time.monotonic() + arguments.seconds

    def told(one: Compared) -> bool:
        found.append(one)
        measurements.keep([*earlier, *found], arguments.output)
        wrong = f"{len(one.wrong)} of {one.pages} pages wrong" + (f"; {one.ails}" if one.ails else "")
        print(f"{one.way:20} {one.seconds:5.1f} s, paused {one.paused_ms:.0f} ms: {wrong}", flush=True)
        return bool(time.monotonic() < deadline)

    for way in ways:
        done = sum(one.way == way.name for one in earlier) if arguments.missing else 0
        if done < arguments.moves and time.monotonic() < deadline:
            trial(way, GUESTS, arguments.moves - done, arguments.hold, told)
    if arguments.document:
        measurements.show(page.table([*earlier, *found]), arguments.document)
    bad = sum(bool(one.wrong or one.ails) for one in found)
    print(f"{len(found) - bad} of {len(found)} moves are right")
    return 1 if bad else 0


if __name__ == "__main__":
    run(main)
