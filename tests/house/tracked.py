"""The files that git keeps."""

import subprocess
from functools import cache
from pathlib import Path

from tests.house.imports import ROOT


@cache
def tracked() -> list[Path]:
    """Return all files of the repository that are there."""
    known = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in known.split("\0") if name]
    return [path for path in paths if path.is_file()]
