"""`python -m tests.house.watch`: whenever a file is saved, run the linters and the tests that it affects."""

import subprocess
import sys
from pathlib import Path

from watchfiles import PythonFilter, watch

from tests.house.affected import affected
from tests.house.imports import ROOT

FOLDERS = ("controller", "agents", "lab", "tests", "policies", "migrations")


def main() -> None:
    """Run until Ctrl-C."""
    print("watching; Ctrl-C ends", flush=True)
    folders = [ROOT / folder for folder in FOLDERS]
    for changes in watch(*folders, watch_filter=PythonFilter(), raise_interrupt=False):
        changed = sorted(path for path in {Path(name) for _, name in changes} if path.exists())
        if changed:
            look(changed)


def look(changed: list[Path]) -> None:
    """Lint the changed files, and run the tests that they affect."""
    names = [str(path.relative_to(ROOT)) for path in changed]
    print(f"\n== {', '.join(names)}", flush=True)
    tests = [str(path.relative_to(ROOT)) for path in affected(changed)]
    commands = [["ruff", "format", "--diff", *names], ["ruff", "check", *names], ["mypy", *names]]
    if tests:
        commands.append([sys.executable, "-m", "pytest", "-q", "-m", "not lab", *tests])
    for command in commands:
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            return
    print("well" if tests else "well; no test imports it", flush=True)


if __name__ == "__main__":
    main()
