"""The base of guests' disks: an ext4 file system with one file of known content, as qcow2.

Every guest's disk has the size of this one. A guest's writes go to an overlay, and only the overlay moves.
"""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from lab.errors import LabError

BYTES = 512 << 20
KNOWN = 16 << 20
"""Bytes of the file `known`, whose SHA-256 is in `known.sha256`, so that a guest can check that it still has its
base."""
UUID = "77656674-0000-4000-8000-000000000000"


def make(path: Path) -> None:
    """Write the image. The same programs write the same bytes."""
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        tree, raw = Path(directory) / "tree", Path(directory) / "raw"
        tree.mkdir()
        content = hashlib.shake_256(b"weft").digest(KNOWN)
        (tree / "known").write_bytes(content)
        (tree / "known.sha256").write_text(f"{hashlib.sha256(content).hexdigest()}  known\n")
        for file in (*tree.iterdir(), tree):
            os.utime(file, (0, 0))
        _file_system(tree, raw, BYTES)
        fixed = Path(directory) / "fixed"  # files keep the time of their creation, which no option sets
        fixed.write_text("".join(f"set_inode_field {file.name} ctime 0\n" for file in tree.iterdir()))
        _run(["debugfs", "-w", "-f", str(fixed), str(raw)], E2FSPROGS_FAKE_TIME="1")
        _qcow2(raw, path)


def pack(tree: Path, path: Path, size: int) -> None:
    """Write an image of so many bytes, with the files below `tree`."""
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        raw = Path(directory) / "raw"
        _file_system(tree, raw, size)
        _qcow2(raw, path)


def _file_system(tree: Path, raw: Path, size: int) -> None:
    options = f"hash_seed={UUID},lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0"
    argv = ["mke2fs", "-q", "-t", "ext4", "-U", UUID, "-E", options, "-d", str(tree), str(raw), str(size >> 10)]
    _run(argv, E2FSPROGS_FAKE_TIME="1", SOURCE_DATE_EPOCH="1")


def _qcow2(raw: Path, path: Path) -> None:
    _run(["qemu-img", "convert", "-O", "qcow2", "-o", "preallocation=off", str(raw), str(path)])


def _run(argv: list[str], **environment: str) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    except FileNotFoundError:
        raise LabError(f"{argv[0]} is not installed", "lab/provision installs what the lab needs") from None
    if done.returncode:
        raise LabError(f"'{' '.join(argv)}' failed: {done.stderr.strip()}")
