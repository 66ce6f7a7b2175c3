"""Runs a part of the suite; `python -m tests.suite tests/integration [pytest's options]`.

Tests with real daemons, kernels and guests share two processors with them, and one that starves fails. A few failures
are therefore run once more, whole files of them, by themselves. What passes then is named as unsteady, at the end and
in `build/unsteady`; what fails again fails the run, and so does more than a few.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
UNSTEADY = ROOT / "build" / "unsteady"
FEW = 4
"""Failures that may be the machine's; more are ours."""


def main(words: list[str]) -> int:
    code = _pytest("--cache-clear", *words)
    failed = sorted(json.loads(FAILED.read_text())) if code == 1 and FAILED.is_file() else []
    if not 0 < len(failed) <= FEW:
        return code
    print(f"== once more, by themselves: {', '.join(failed)}", flush=True)
    code = _pytest(*sorted({name.partition("::")[0] for name in failed}))
    if code == 0:
        with UNSTEADY.open("a") as kept:
            kept.writelines(f"{name}\n" for name in failed)
    return code


def _pytest(*words: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
