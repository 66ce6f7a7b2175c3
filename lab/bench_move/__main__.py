"""Measures moves, saves every figure at once, and writes the page."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from agents.hypervisors.hypervisor import HypervisorError
from lab.bench_move import kept, page
from lab.bench_move.cases import POLICY, QUICK, RATES, RTTS, Case, Way, cases, topology
from lab.bench_move.figures import Figures
from lab.bench_move.kept import Run
from lab.bench_move.plain import Plain
from lab.bench_move.saga import Saga
from lab.bench_move.trial import trial
from lab.errors import LabError
from lab.guests.build import build
from lab.paths import BUILD, GUESTS
from lab.program import run
from lab.region import Region

FOLDER = BUILD / "bench-move"


def main() -> int:
    """Run the benchmark. Exit codes: 1 something could not be measured, as standard error says; 130 interrupted."""
    arguments = _arguments()
    failed: list[str] = []
    runs = kept.read(arguments.source or arguments.output)
    if arguments.source is None:
        chosen = QUICK if arguments.quick else cases(arguments.rtt, arguments.rate)
        build(GUESTS)
        failed = measure(chosen, arguments.way, arguments.often, arguments.missing, runs, arguments.output)
    if arguments.document:
        page.write(arguments.document, runs)
    for line in failed:
        print(f"weft: {line}", file=sys.stderr)
    return 1 if failed else 0


def measure(
    chosen: Sequence[Case], ways: Sequence[Way], often: int, missing: bool, runs: list[Run], output: Path
) -> list[str]:
    """Measure moves and add them to `runs`, in place of older ones of the same case and way. Return what could not be
    measured, and why."""
    failed = []
    for case in chosen:
        for way in ways:
            older = [run for run in runs if (run.case, run.way) == (case, way)]
            if missing and len(older) >= often:
                continue
            for number in range(often):
                began = time.monotonic()
                load = os.getloadavg()[0]
                try:
                    figures = once(case, way)
                except (LabError, HypervisorError, ValueError) as error:
                    failed.append(f"{case}, {way}: {error}")
                    print(f"{case}, {way}: {error}", flush=True)
                    continue
                if number == 0:
                    runs[:] = [run for run in runs if run not in older]
                runs.append(Run.now(case, way, figures, load))
                kept.write(output, runs)
                print(f"{case}, {way}: {page.line(figures)} (all in {time.monotonic() - began:.0f} s)", flush=True)
    return failed


def once(case: Case, way: Way) -> Figures:
    """Measure one move in a lab of its own, of which nothing stays."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "policy.yaml").write_text(POLICY)
    path = FOLDER / f"{case.rtt_ms}-{case.rate_mbit}-{way}.yaml"
    path.write_text(topology(case, way))
    region = Region.load(path)
    with region.occupied(lambda _: None), Plain(region, FOLDER) if way is Way.PLAIN else Saga(region) as scene:
        return trial(scene, FOLDER)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-move", description=__doc__)
    chosen = f"[{','.join(map(str, RTTS))}]", f"[{','.join(map(str, RATES))}]"
    parser.add_argument("--rtt", type=_numbers, default=RTTS, help=f"ms between the cloudlets {chosen[0]}")
    parser.add_argument("--rate", type=_numbers, default=RATES, help=f"Mbit/s of each path {chosen[1]}")
    parser.add_argument("--way", type=_ways, default=tuple(Way), help=f"[{','.join(Way)}]")
    parser.add_argument("--quick", action="store_true", help=f"only {' and '.join(map(str, QUICK))}")
    parser.add_argument("--often", type=int, default=1, help="moves of each kind [1]")
    parser.add_argument("--missing", action="store_true", help="only what the figures kept do not have yet")
    parser.add_argument("--output", type=Path, default=BUILD / "bench-move.json", help="figures as JSON, added to")
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="JSON", help="measures nothing: the page from these"
    )
    parser.add_argument("--document", type=Path, help="the page, its plots beside it")
    arguments = parser.parse_args()
    if arguments.often < 1:
        parser.error("--often: at least 1")
    if arguments.source is None and os.geteuid() != 0:
        parser.error("the lab makes network namespaces; run it as root")
    if arguments.source is not None and not arguments.source.is_file():
        parser.error(f"--from: there is no {arguments.source}")
    return arguments


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _ways(text: str) -> tuple[Way, ...]:
    return tuple(Way(word) for word in text.split(","))


if __name__ == "__main__":
    run(main)
