"""How the lab's programs end: a sentence for people, never a traceback."""

import sys
from collections.abc import Callable
from typing import NoReturn

from lab.errors import LabError


def run(main: Callable[[], int]) -> NoReturn:
    """Exits with what `main` returns; with 1 for a LabError and 130 when interrupted, each said on standard error."""
    try:
        sys.exit(main())
    except LabError as error:
        print(f"weft: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("weft: interrupted", file=sys.stderr)
        sys.exit(130)
