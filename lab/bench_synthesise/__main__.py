"""Lets a container follow its device by a move and by a new start, at several sizes and rates: `make
bench-synthesise`."""

import argparse
from pathlib import Path

from lab import measurements
from lab.bench_synthesise.page import table
from lab.bench_synthesise.trial import Served, Way, region, served
from lab.containers.build import build
from lab.paths import GUESTS
from lab.program import run

RATES, SIZES = (5, 20, 60), (4, 32)
WAYS: tuple[Way, ...] = ("move", "synthesise")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-synthesise", description=__doc__)
    parser.add_argument("--rate", type=int, nargs="*", default=list(RATES), help="Mbit/s of the lines")
    parser.add_argument("--mib", type=int, nargs="*", default=list(SIZES), help="memory that the container writes")
    parser.add_argument("--often", type=int, default=2, help="moves and new starts of each cell [2]")
    parser.add_argument("--output", type=Path, default=Path("docs/reports/bench-synthesise.json"))
    parser.add_argument("--add", action="store_true", help="to what is in --output; else that is replaced")
    parser.add_argument("--document", type=Path, help="a page whose table is replaced")
    arguments = parser.parse_args()
    build(GUESTS, print)
    found = measurements.kept(Served, arguments.output) if arguments.add else []
    for rate in arguments.rate:
        with region(rate) as (town, rest):
            for mib in arguments.mib:
                for way in WAYS * arguments.often:
                    one = served(town, rest, rate, mib, way)
                    found.append(one)
                    measurements.keep(found, arguments.output)
                    said = f"predicted {one.predicted or 0:.1f} s, decided {one.course}"
                    print(f"{rate} Mbit/s, {mib} MiB: {way} {one.seconds:.1f} s; {said}", flush=True)
    if arguments.document:
        measurements.show(table(found), arguments.document)
    return 0


if __name__ == "__main__":
    run(main)
