"""Runs the cases, and says which of them ended as they may not: `make faults`."""

import argparse
import sys
import time
from pathlib import Path

from lab.faults import page
from lab.faults.bed import Bed
from lab.faults.cases import ALL, chosen
from lab.faults.trial import Found, put
from lab.program import run


def main() -> int:
    """Run the chosen cases. Exit code 1: a case did not end as it may."""
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--case", nargs="*", default=["*"], help="names of cases, as shell patterns [*]")
    parser.add_argument("--list", action="store_true", help="only says which cases those are")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begins no further case after so long")
    parser.add_argument("--times", type=int, default=1, help="how often each is put through [1]")
    parser.add_argument("--missing", action="store_true", help="only cases that --output does not have yet")
    parser.add_argument("--output", type=Path, default=Path("docs/reports/faults.json"), help="what happened, as JSON")
    parser.add_argument("--document", type=Path, help="a page whose table is replaced")
    arguments = parser.parse_args()
    if arguments.document and not arguments.document.exists():
        parser.error(f"--document {arguments.document}: there is no such page")
    cases = chosen(*(arguments.case or ["*"]))
    if arguments.missing:
        known = {one.case for one in page.keep([], arguments.output)}
        cases = [case for case in cases if case.name not in known]
    if arguments.list:
        print("\n".join(case.name for case in cases))
        return 0
    if not cases:
        print(f"weft: none of the {len(ALL)} cases is called so", file=sys.stderr)
        return 2
    found: list[Found] = []
    began = time.monotonic()
    with Bed.made() as bed:
        for case in cases * arguments.times:
            if time.monotonic() - began > arguments.seconds:
                break
            one = put(bed, case)
            found.append(one)
            page.keep(found, arguments.output)
            _say(one)
    everything = page.keep(found, arguments.output)
    if arguments.document:
        page.write(everything, arguments.document)
    failed = sum(bool(one.wrong) for one in found)
    print(f"{len(found) - failed} of {len(found)} cases are well")
    return 1 if failed else 0


def _say(one: Found) -> None:
    print(f"{'WRONG' if one.wrong else 'well ':5} {one.case:40} {one.end} after {one.seconds:.1f} s", flush=True)
    for line in (*(one.steps if one.wrong else ()), *one.wrong):
        print(f"        {line}", flush=True)


if __name__ == "__main__":
    run(main)
