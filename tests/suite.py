"""Runs a part of the suite; `python -m tests.suite tests/integration [pytest's options]`.

Tests with real daemons, kernels and guests share two processors with them, and a test that gets too little time fails.
If a few tests fail, their whole files run once more, by themselves. A test that then passes is named as unsteady, at
the end and in `build/unsteady`; a test that fails again fails the run. More than a few failures fail the run at
once.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FEW = 8
"""The number of failures that a busy machine may cause; more are Weft's own."""


def suite(words: Sequence[str], root: Path = ROOT) -> int:
    """Run a part of the suite in `root`, which has `build`; return pytest's exit code of the last run."""
    code = _pytest(root, "--cache-clear", *words)
    cache = root / ".pytest_cache" / "v" / "cache" / "lastfailed"
    failed = sorted(json.loads(cache.read_text())) if code == 1 and cache.is_file() else []
    if not 0 < len(failed) <= FEW:
        return code
    print(f"== once more, by themselves: {', '.join(failed)}", flush=True)
    tier = words[words.index("--tier") :][:2] if "--tier" in words else []  # without it, other tests are chosen
    code = _pytest(root, *tier, *sorted({name.partition("::")[0] for name in failed}))
    if code == 0:
        with (root / "build" / "unsteady").open("a") as kept:
            kept.writelines(f"{name}\n" for name in failed)
    return code


def _pytest(root: Path, *words: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(suite(sys.argv[1:]))
