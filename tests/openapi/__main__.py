"""`make openapi` writes the description of the API; `make openapi-check BASE=REVISION` names the changes since a commit
that break clients. Exit codes of the check: 0 there are none, 1 there are some, 2 there is no such commit."""

import argparse
import sys

from tests.openapi import document
from tests.openapi.operations import broken


def main() -> int:
    """Write the description, or compare it."""
    parser = argparse.ArgumentParser(prog="python -m tests.openapi")
    parser.add_argument("--base", metavar="REVISION", help="compare with the description of this commit")
    options = parser.parse_args()
    if options.base is None:
        document.COMMITTED.write_text(document.text(document.present()))
        return 0
    return check(options.base)


def check(revision: str) -> int:
    """Print the changes since a commit that break clients; return the exit code."""
    try:
        before = document.at(revision)
    except ValueError as error:
        print(f"openapi-check: {error}", file=sys.stderr)
        return 2
    if before is None:
        print(f"openapi-check: {revision} has no {document.NAME}, so nothing can be compared")
        return 0
    found = broken(before, document.present())
    for text in found:
        print(text)
    print(f"openapi-check: changes since {revision} that break clients: {len(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
