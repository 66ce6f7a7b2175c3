"""Runs the audit's tools."""

import subprocess
from pathlib import Path

TIMEOUT = 300
"""Seconds."""


def said(command: list[str], folder: Path) -> tuple[str, str]:
    """Return a command's output, and its last error line if it failed in another way than by finding something."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    if done.returncode == 0:
        return done.stdout, ""
    lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("exit status")]
    return done.stdout, lines[-1] if lines else f"exit code {done.returncode}"
