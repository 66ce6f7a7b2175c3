"""The parts of the manual that others have written."""

import re
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent

SHIM = _HERE / "iframe-worker.js"
"""A stand-in for web workers on pages from a disk, where browsers permit none; the search is one."""


class Asset(NamedTuple):
    """A part: the registry that it comes from (as in a package URL), its name and version."""

    kind: str
    name: str
    version: str


def _version(file: Path, pattern: str) -> str:
    found = re.search(pattern, file.read_text())
    if found is None:
        raise ValueError(f"{file.name} names no version")
    return found[1]


ASSETS = (
    Asset("npm", "iframe-worker", _version(SHIM, r"iframe-worker ([\d.]+)")),
    Asset("pypi", "zensical", _version(_HERE / "requirements.txt", r"(?m)^zensical==([\d.]+)$")),
)
"""The parts that are in the site."""
