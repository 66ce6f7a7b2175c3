"""`make manual`. Exit codes: 0 the manual is built, 1 it cannot be built or something is wrong with it, 2 wrong
usage."""

import argparse
import sys
from pathlib import Path

from deploy.manual.pages import NotMade
from deploy.manual.site import ZENSICAL, build
from deploy.packages import version
from deploy.packages.failure import NotBuilt

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Build the manual."""
    parser = argparse.ArgumentParser(prog="make manual", description="The manual as a site.")
    parser.add_argument("--zensical", type=Path, default=ZENSICAL, help="the generator (of build/manual-tools)")
    parser.add_argument("--output", type=Path, default=ROOT / "build/manual", help="a folder (build/manual)")
    options = parser.parse_args()
    try:
        build(ROOT, options.zensical, version.of_tree(ROOT).python, options.output)
    except (NotMade, NotBuilt) as error:
        print(f"manual: {error}", file=sys.stderr)
        return 1
    print(f"== {options.output / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
