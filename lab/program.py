"""The end of the lab's programs: one sentence for users, never a traceback."""

import sys
from collections.abc import Callable
from typing import NoReturn

from lab.errors import LabError


def run(main: Callable[[], int]) -> NoReturn:
    """Exit with the code that `main` returns, with 1 for a LabError and 130 when interrupted. Both print a line to
    standard error."""
    try:
        sys.exit(main())
    except LabError as error:
        print(f"weft: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("weft: interrupted", file=sys.stderr)
        sys.exit(130)
