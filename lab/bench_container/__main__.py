"""Moves containers over thin lines by each way, side by side: `make bench-container`."""

import argparse
import shutil
from pathlib import Path

from lab import measurements
from lab.bench_container.cases import RATES, SERVICES, WAYS
from lab.bench_container.page import table
from lab.bench_container.trial import Moved, trial
from lab.containers.build import build_python
from lab.paths import GUESTS
from lab.program import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-container", description=__doc__)
    parser.add_argument("--rate", type=int, nargs="*", default=list(RATES), help="Mbit/s of the lines")
    parser.add_argument("--service", nargs="*", choices=SERVICES, default=list(SERVICES), help="containers [all]")
    parser.add_argument("--way", nargs="*", choices=WAYS, default=list(WAYS), help="ways [all]")
    parser.add_argument("--often", type=int, default=1, help="moves of each cell [1]")
    parser.add_argument(
        "--output", type=Path, default=Path("docs/reports/bench-container.json"), help="every move, as JSON"
    )
    parser.add_argument("--add", action="store_true", help="to the moves in --output; else those are replaced")
    parser.add_argument("--document", type=Path, help="a page whose table is replaced")
    arguments = parser.parse_args()
    ways = [way for way in arguments.way if way != "podman" or shutil.which("podman")]
    if len(ways) < len(arguments.way):
        print("podman is not installed, and left out: apt-get install --no-install-recommends podman", flush=True)
    images = build_python(GUESTS, print)
    found = measurements.kept(Moved, arguments.output) if arguments.add else []
    for service in arguments.service:
        for rate in arguments.rate:
            for way in ways:
                for _ in range(arguments.often):
                    one = trial(images, service, rate, way)
                    found.append(one)
                    measurements.keep(found, arguments.output)
                    figures = f"{one.seconds:.1f} s, frozen {one.frozen:.2f} s, {one.wire / 1e6:.2f} MB"
                    print(f"{one.service}, {one.rate} Mbit/s, {one.way}: {figures}", flush=True)
    if arguments.document:
        measurements.show(table(found), arguments.document)
    return 0


if __name__ == "__main__":
    run(main)
