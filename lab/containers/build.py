"""Builds the lab's images of containers below build/guests/containers with `build()`, once for the same sources:
`work`, busybox and above it the load `weft-work`, which serves on port 5201."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.errors import LabError
from lab.guests import packages
from lab.guests.build import alone, sources
from lab.guests.build import build as build_guests
from lab.lock import Progress
from lab.paths import GUESTS

FOLDER = "containers"
IMAGE = "work"
COMMAND = ("/bin/weft-work", "serve")

_BASE = ("busybox-static",)
_TAG = "latest"


def build(guests: Path = GUESTS, progress: Progress = lambda _: None) -> Path:
    """Build the images if need be, and return their folder. Raises LabError with what is missing on this machine."""
    build_guests(guests, progress)
    folder = guests / FOLDER
    with alone(folder, IMAGE) as made:
        if not made:
            progress("the lab's container: busybox and weft-work")
            with tempfile.TemporaryDirectory(dir=folder) as temporary:
                _build(guests, Path(temporary))
    return folder


def _build(guests: Path, temporary: Path) -> None:
    base, top = temporary / "base", temporary / "top"
    packages.unpack(packages.fetch(_BASE, guests / "packages"), base)
    program = packages.path(base, "bin/busybox")
    (base / "bin").mkdir(exist_ok=True)
    if program != base / "bin/busybox":
        program.rename(base / "bin/busybox")
    for name in _run([str(base / "bin/busybox"), "--list"]).split():
        if not (base / "bin" / name).exists():
            (base / "bin" / name).symlink_to("busybox")
    for name in ("usr", "lib"):
        shutil.rmtree(base / name, ignore_errors=True)
    for name in ("dev", "proc", "sys", "tmp", "run", "etc", "root"):
        (base / name).mkdir(exist_ok=True)
    (base / "etc/passwd").write_text("root::0:0:root:/root:/bin/sh\n")
    (top / "bin").mkdir(parents=True)
    shutil.copy(guests / "weft-work", top / "bin/weft-work")
    pack(guests / FOLDER / IMAGE, [base, top], {"config.cmd": COMMAND}, temporary)


def pack(image: Path, layers: Sequence[Path], config: Mapping[str, Sequence[str]], temporary: Path) -> None:
    """Make an OCI layout of these layers, the lowest first, in place of the one that is there."""
    new, bundle = temporary / image.name, temporary / "bundle"
    where = f"{new}:{_TAG}"
    _run(["umoci", "init", "--layout", str(new)])
    _run(["umoci", "new", "--image", where])
    _run(["umoci", "unpack", "--image", where, str(bundle)])
    for layer in layers:
        shutil.copytree(layer, bundle / "rootfs", symlinks=True, dirs_exist_ok=True)
        _run(["umoci", "repack", "--refresh-bundle", "--image", where, str(bundle)])
    words = [word for name, values in config.items() for value in values for word in (f"--{name}", value)]
    _run(["umoci", "config", "--image", where, *words])
    _run(["umoci", "gc", "--layout", str(new)])
    (new / "made.json").write_text(json.dumps({"sources": sources()}) + "\n")
    shutil.rmtree(image, ignore_errors=True)
    new.rename(image)


def _run(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LabError(f"{argv[0]} is not installed", "run `make build`") from None
    if done.returncode:
        raise LabError(f"'{' '.join(argv)}' failed: {done.stderr.strip()}")
    return done.stdout
