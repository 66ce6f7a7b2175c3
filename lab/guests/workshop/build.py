"""Builds the image `workshop` beside `lab`, once for the same sources."""

import json
import shutil
import tempfile
from pathlib import Path

from lab.guests import disk, packages
from lab.guests.build import IMAGE as LAB
from lab.guests.build import alone, sources
from lab.guests.build import build as build_lab
from lab.lock import Progress
from lab.paths import GUESTS

IMAGE = "workshop"
BEGIN = ("sh", "/disk/weft/begin")
"""The command that begins the guest's work, or those parts of it that are named behind; it returns as soon as that
runs."""

PACKAGES = ("gcc", "libc6-dev", "python3-minimal", "redis-server", "sqlite3")
BYTES = 1 << 30
"""The size of the disk."""

_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/perl", "usr/lib/x86_64-linux-gnu/perl-base")


def build(guests: Path = GUESTS, progress: Progress = lambda _: None) -> Path:
    """Build the image and the lab's if need be, and return their folder. Raises LabError with what is missing."""
    build_lab(guests, progress)
    with alone(guests, IMAGE) as made:
        if not made:
            _build(guests, progress)
    return guests


def _build(guests: Path, progress: Progress) -> None:
    names = packages.with_dependencies(PACKAGES)
    progress(f"the workshop's disk: {len(names)} Debian packages")
    with tempfile.TemporaryDirectory(dir=guests) as temporary:
        new = Path(temporary) / IMAGE
        new.mkdir()
        disk.pack(
            _tree(Path(temporary) / "tree", packages.fetch(names, guests / "packages")), new / "disk.qcow2", BYTES
        )
        for file in ("kernel", "initramfs", "cmdline"):
            shutil.copyfile(guests / LAB / file, new / file)
        (new / "made.json").write_text(json.dumps({"sources": sources(), "packages": names}, indent=1) + "\n")
        shutil.rmtree(guests / IMAGE, ignore_errors=True)
        new.rename(guests / IMAGE)


def _tree(tree: Path, files: list[Path]) -> Path:
    packages.root(files, tree, _UNUSED)
    for name in ("tmp", "proc", "dev", "weft"):
        (tree / name).mkdir(exist_ok=True)
    for name in ("begin", "turns", "fill.lua", "service.py"):
        shutil.copy(Path(__file__).with_name(name), tree / "weft" / name)
    return tree
