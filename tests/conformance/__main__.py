"""`python -m tests.conformance MODULE:NAME`, with whatever else pytest takes. Exit codes are pytest's."""

import os
import sys
from pathlib import Path

import pytest

from tests.conformance.bench import ENVIRONMENT


def main() -> int:
    """Runs the tests for one driver."""
    if len(sys.argv) < 2 or ":" not in sys.argv[1]:
        print("usage: python -m tests.conformance MODULE:NAME [PYTEST OPTIONS]", file=sys.stderr)
        return pytest.ExitCode.USAGE_ERROR
    os.environ[ENVIRONMENT] = sys.argv[1]
    return pytest.main([str(Path(__file__).parent), *sys.argv[2:]])


if __name__ == "__main__":
    sys.exit(main())
