"""Runs a part of the suite; `python -m tests.suite tests/integration [pytest's options]`.

Tests with real daemons, kernels and guests share two processors with them, and one that starves fails. A few failures
are therefore run once more, whole files of them, by themselves. What passes then is named as unsteady, at the end and
in `build/unsteady`; what fails again fails the run, and so does more than a few.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FEW = 8
"""Failures that may be the machine's; more are ours."""


def suite(words: Sequence[str], root: Path = ROOT) -> int:
    """pytest's exit code of the last run. `root` is where it runs, and where `build` is."""
    code = _pytest(root, "--cache-clear", *words)
    cache = root / ".pytest_cache" / "v" / "cache" / "lastfailed"
    failed = sorted(json.loads(cache.read_text())) if code == 1 and cache.is_file() else []
    if not 0 < len(failed) <= FEW:
        return code
    print(f"== once more, by themselves: {', '.join(failed)}", flush=True)
    code = _pytest(root, *sorted({name.partition("::")[0] for name in failed}))
    if code == 0:
        with (root / "build" / "unsteady").open("a") as kept:
            kept.writelines(f"{name}\n" for name in failed)
    return code


def _pytest(root: Path, *words: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(suite(sys.argv[1:]))
