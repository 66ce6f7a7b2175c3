"""`python -m tests.conformance DRIVER`, with any further pytest options. Exit codes are pytest's."""

import os
import sys
from pathlib import Path

import pytest

from tests.conformance.bench import ENVIRONMENT, OURS


def main() -> int:
    """Run the tests for one driver: one of the repository's by its name, any other by the location of its bench."""
    bench = OURS.get(sys.argv[1], sys.argv[1]) if len(sys.argv) > 1 else ""
    if ":" not in bench:
        print(f"usage: python -m tests.conformance {'|'.join(OURS)}|MODULE:NAME [PYTEST OPTIONS]", file=sys.stderr)
        return pytest.ExitCode.USAGE_ERROR
    os.environ[ENVIRONMENT] = bench
    return pytest.main([str(Path(__file__).parent), *sys.argv[2:]])


if __name__ == "__main__":
    sys.exit(main())
