"""`make references` writes the generated pages of docs/reference. Exit codes: 0 written, 1 a page could not be made."""

import sys
from pathlib import Path

from deploy.packages.command import output
from deploy.packages.failure import NotBuilt
from deploy.reference.pages import FOLDER, PAGES

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build/bin"


def main() -> int:
    """Write all pages."""
    try:
        for name, page in PAGES.items():
            text = page(ROOT, lambda program: output([PROGRAMS / program, "--help"], ROOT))
            (ROOT / FOLDER / name).write_text(text)
    except (NotBuilt, ValueError) as error:
        print(f"references: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
