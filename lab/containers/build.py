"""Builds the lab's images of containers below build/guests/containers, once for the same sources.

`build()` makes `work`: busybox, and above it the load `weft-work`, which serves on port 5201. `build_python()` makes
`python`: Debian's Python and NumPy, and above them a service for benchmarks."""

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

_HERE = Path(__file__).parent
FOLDER = "containers"
IMAGE, PYTHON = "work", "python"
COMMAND = ("/bin/weft-work", "serve")

_BASE = ("busybox-static",)
_PYTHON = ("python3-numpy", "python3-minimal")
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/lib/python3/dist-packages/numpy/tests")
_TAG = "latest"


def build(guests: Path = GUESTS, progress: Progress = lambda _: None) -> Path:
    """Build the images if need be, and return their folder. Raises LabError with what is missing on this machine."""
    build_guests(guests, progress)
    folder = guests / FOLDER
    with alone(folder, IMAGE, _HERE) as made:
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


def build_python(guests: Path = GUESTS, progress: Progress = lambda _: None) -> Path:
    """Build the image `python` beside `work` if need be, and return their folder. Raises LabError."""
    folder = build(guests, progress)
    with alone(folder, PYTHON, _HERE) as made:
        if not made:
            names = packages.with_dependencies(_PYTHON)
            progress(f"the container of Python: {len(names)} Debian packages")
            with tempfile.TemporaryDirectory(dir=folder) as temporary:
                _build_python(guests, Path(temporary), names)
    return folder


def _build_python(guests: Path, temporary: Path, names: list[str]) -> None:
    base, top = temporary / "base", temporary / "top"
    packages.root(packages.fetch(names, guests / "packages"), base, _UNUSED)
    for name in ("dev", "proc", "sys", "tmp"):
        (base / name).mkdir(exist_ok=True)
    for library in ("blas", "lapack"):  # which Debian's alternatives would link
        for found in base.glob(f"usr/lib/x86_64-linux-gnu/{library}/lib{library}.so.3"):
            (base / "usr/lib/x86_64-linux-gnu" / found.name).symlink_to(f"{library}/{found.name}")
    top.mkdir()
    shutil.copy(Path(__file__).parent / "python/service.py", top / "service.py")
    command = ("/usr/bin/python3", "/service.py", "100")
    pack(guests / FOLDER / PYTHON, [base, top], {"config.cmd": command}, temporary)


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
    (new / "made.json").write_text(json.dumps({"sources": sources(_HERE)}) + "\n")
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
