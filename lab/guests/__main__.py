"""Builds the lab's guest, if it has not been built: `python -m lab.guests`."""

import argparse
from pathlib import Path

from lab.guests.build import build
from lab.paths import GUESTS
from lab.program import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.guests", description=__doc__)
    parser.add_argument("--output", type=Path, default=GUESTS, help="where to (build/guests)")
    build(parser.parse_args().output.resolve(), print)
    return 0


if __name__ == "__main__":
    run(main)
