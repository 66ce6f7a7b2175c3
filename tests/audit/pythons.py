"""The lists of tools against the Pythons of both Debian releases: a machine with a newer Python does not show that
theirs cannot install a version."""

import sys
from pathlib import Path

from tests.audit import Answer
from tests.audit.tool import said
from tests.house.tracked import tracked

PYTHONS = {"Debian 12": "3.11.2", "Debian 13": "3.13.5"}

OF_THE_LIST = "No matching distribution found"
"""Part of pip's error if an index has no version that fits; in its other errors nothing was decided."""


def lists() -> list[Path]:
    """Return the lists of pinned tools."""
    return [path for path in tracked() if path.name == "requirements.txt"]


def installed(root: Path, folder: Path) -> Answer:
    """Ask pip whether each list can be installed by each Python. Nothing is installed."""
    said_of = {}
    for file in lists():
        for release, python in PYTHONS.items():
            # fmt: off
            command = [
                sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run",
                "--ignore-installed", "--python-version", python, "--only-binary", ":all:", "--target",
                str(folder / "none"), "-r", str(file),
            ]
            # fmt: on
            said_of[f"{file.relative_to(root)} on {release} (Python {python})"] = said(command, folder)[1]
    return of_pip(said_of)


def of_pip(complaints: dict[str, str]) -> Answer:
    """Turn pip's last error lines, empty where all went well, into an answer."""
    wrong = {list_: complaint for list_, complaint in complaints.items() if complaint}
    return Answer(
        "lists of tools on the Pythons of both Debian releases (pip)",
        tuple(f"{list_}: {complaint}" for list_, complaint in wrong.items() if OF_THE_LIST in complaint),
        tuple(f"{list_}: {complaint}" for list_, complaint in wrong.items() if OF_THE_LIST not in complaint),
        (f"{len(complaints)} asked for",),
    )
