"""Programs that the build runs."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.packages.failure import NotBuilt

_LINES = 15


def output(argv: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a program and return what it prints. Raises NotBuilt if it fails or is not here."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words, cwd=folder, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise NotBuilt(f"{words[0]} is not on this machine (make build)") from None
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-_LINES:])
        raise NotBuilt(f"'{' '.join(words[:4])} …' failed:\n{last}")
    return done.stdout
