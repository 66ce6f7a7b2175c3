"""Moves a guest over thin lines by each way, side by side: `make bench-thin`."""

import argparse
from fnmatch import fnmatch
from pathlib import Path

from lab import measurements
from lab.bench_thin import page
from lab.bench_thin.cases import STATES, WAYS, lines
from lab.bench_thin.trial import Moved, images, trial
from lab.guests.build import build
from lab.guests.workshop import build as workshop
from lab.paths import GUESTS
from lab.program import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-thin", description=__doc__)
    parser.add_argument("--rate", type=int, nargs="*", default=[10, 60, 100], help="Mbit/s of the lines [10 60 100]")
    parser.add_argument("--rtt", type=float, nargs="*", default=[20.0], help="ms of the round trips [20]")
    parser.add_argument("--loss", type=float, nargs="*", default=[0.0], help="per cent of packets that are lost [0]")
    parser.add_argument("--state", nargs="*", choices=STATES, default=list(STATES), help="states of the guest [all]")
    parser.add_argument("--way", nargs="*", default=["*"], help="names of ways, as shell patterns [*]")
    parser.add_argument("--often", type=int, default=3, help="moves of each cell [3]")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds for a move's memory [150]")
    parser.add_argument("--output", type=Path, default=Path("docs/reports/bench-thin.json"), help="every move, as JSON")
    parser.add_argument("--add", action="store_true", help="to the moves in --output; else those are replaced")
    parser.add_argument("--document", type=Path, help="a page whose tables are replaced")
    arguments = parser.parse_args()
    if arguments.document and not arguments.document.exists():
        parser.error(f"--document {arguments.document}: there is no such page")
    ways = [way for way in WAYS if any(fnmatch(way.name, pattern) for pattern in arguments.way or ["*"])]
    if not ways:
        parser.error(f"none of the ways is called so: {', '.join(way.name for way in WAYS)}")
    wanted = {STATES[state].image for state in arguments.state}
    (workshop.build if workshop.IMAGE in wanted else build)(GUESTS)
    found = measurements.kept(Moved, arguments.output) if arguments.add else []
    for based in (False, True):
        chosen = [way for way in ways if way.base is based]
        if not chosen:
            continue
        with images(GUESTS, arguments.state, based) as own:
            for line in lines(arguments.rate, arguments.rtt, arguments.loss):
                for state in arguments.state:
                    for way in chosen:
                        for one in trial(own, line, state, way, arguments.often, arguments.limit):
                            found.append(one)
                            measurements.keep(found, arguments.output)
                            print(_said(one), flush=True)
    if arguments.document:
        measurements.show(page.tables(found), arguments.document)
        page.plots(found, arguments.document)
    return 0


def _said(one: Moved) -> str:
    began = f"{one.line}, {one.state}, {one.way}: "
    if one.seconds is None:
        return f"{began}not in time"
    stalled = f", stalled {one.stalled_ms:.0f} ms" if one.stalled_ms is not None else ""
    bytes = f"{one.wire / 1e6:.1f} MB of memory, {one.disk / 1e6:.1f} of disk"
    return f"{began}{one.seconds:.1f} s, paused {one.paused_ms:.0f} ms{stalled}, {bytes}, CPU {one.processor:.1f} s"


if __name__ == "__main__":
    run(main)
