"""Builds the lab's guest below build/guests with `build()`, once for the same sources.

The result is a hypervisor driver's folder of images, with the image `lab`: kernel, initramfs, cmdline and disk.qcow2.
"""

import fcntl
import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import LabError
from lab.guests import disk, packages, root
from lab.lock import Progress
from lab.paths import GUESTS

HERE = Path(__file__).parent
IMAGE = "lab"
KERNEL = "linux-image-cloud-amd64"
PACKAGES = (
    "busybox-static", "iproute2", "qemu-guest-agent",
    "libatomic1", "libbpf1", "libbsd0", "libc6", "libcap2", "libcom-err2", "libelf1", "libglib2.0-0",
    "libgssapi-krb5-2", "libk5crypto3", "libkeyutils1", "libkrb5-3", "libkrb5support0", "libmd0", "libmnl0", "libnuma1",
    "libpcre2-8-0", "libselinux1", "libtirpc3", "libudev1", "liburing2", "libzstd1", "zlib1g",
)  # fmt: skip
# no_timer_check: if the host stands still during that check, Linux may believe that the timer does not tick.
CMDLINE = "console=ttyS0 quiet panic=-1 no_timer_check"


def build(guests: Path = GUESTS, progress: Progress = lambda _: None) -> Path:
    """Build the images if need be, and return their folder. Raises LabError with what is missing on this machine."""
    with alone(guests, IMAGE) as made:
        if not made:
            _build(guests, progress)
    return guests


@contextmanager
def alone(guests: Path, image: str, of: Path = HERE) -> Iterator[bool]:
    """Enter as the only one that builds there; yield whether the image has been made of the present sources in that
    folder."""
    guests.mkdir(parents=True, exist_ok=True)
    with (guests / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = guests / image / "made.json"
        yield made.is_file() and json.loads(made.read_text())["sources"] == sources(of)


def _build(guests: Path, progress: Progress) -> None:
    names = [packages.depends(KERNEL, "linux-image-"), *map(packages.current, PACKAGES)]
    progress(f"the lab's guest: {len(names)} Debian packages")
    debs = packages.fetch(names, guests / "packages")
    with tempfile.TemporaryDirectory(dir=guests) as directory:
        unpacked, new = Path(directory) / "root", Path(directory) / IMAGE
        progress("the lab's guest: kernel, initramfs and disk")
        packages.unpack(debs, unpacked)
        new.mkdir()
        [kernel] = (unpacked / "boot").glob("vmlinuz-*")
        release = kernel.name.removeprefix("vmlinuz-")
        shutil.copyfile(kernel, new / "kernel")
        work = Path(directory) / "weft-work"
        _compile(Path(__file__).parent / "work", work)
        (new / "initramfs").write_bytes(root.pack(unpacked, packages.path(unpacked, f"lib/modules/{release}"), work))
        (new / "cmdline").write_text(CMDLINE + "\n")
        disk.make(new / "disk.qcow2")
        made = {"sources": sources(), "kernel": release, "packages": {deb.name: _digest(deb) for deb in debs}}
        (new / "made.json").write_text(json.dumps(made, indent=1) + "\n")
        (guests / IMAGE).mkdir(exist_ok=True)
        work.rename(guests / work.name)
        # Running guests keep the disk that they began with, so a file with the same content stays.
        for file in sorted(new.iterdir(), key=lambda path: path.name == "made.json"):
            old = guests / IMAGE / file.name
            if not old.is_file() or _digest(old) != _digest(file):
                file.rename(old)


def _compile(sources: Path, program: Path) -> None:
    """Compile a program without libraries, which runs in the guest and on this machine alike."""
    files = [str(path) for path in sorted(sources.glob("*.c"))]
    argv = ["cc", "-O2", "-static", "-pthread", "-Wall", "-Wextra", "-Werror", "-o", str(program), *files]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{program.name} does not compile: {done.stderr.strip()}")


def sources(folder: Path = HERE) -> str:
    """Return a digest of everything in a folder, and so of all that makes its images."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(folder)} {_digest(path)}\n".encode())
    return digest.hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
