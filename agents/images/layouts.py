"""The folder of images on the disk: a folder each, which is an OCI image layout (image-spec, "OCI Image Layout") if it
has a manifest. Names that begin with a dot are on their way in or out."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from agents.answer import Unreadable
from agents.hypervisors import oci_layout
from agents.storage import durable
from controller.wire.names import NAME_PATTERN

_NAME = re.compile(NAME_PATTERN)
_COMING, _GOING = ".{}.coming", ".{}.going"


def stored(images: Path) -> dict[str, str | None]:
    """Return all images in the folder, each with the digest of its manifest; None if it has no manifest, such as a
    folder that an operator has filled."""
    return {folder.name: _manifest(folder) for folder in _folders(images) if _NAME.fullmatch(folder.name)}


def _folders(images: Path) -> Iterator[Path]:
    if images.is_dir():
        yield from (path for path in images.iterdir() if path.is_dir() and not path.is_symlink())


def _manifest(folder: Path) -> str | None:
    try:
        manifests = oci_layout.manifests(folder)
    except (OSError, Unreadable):
        return None
    return oci_layout.digest(manifests[0]) if len(manifests) == 1 else None


def size(images: Path) -> int:
    """Return the bytes of all blobs, also of those that are on their way. One with several names counts once."""
    seen: dict[tuple[int, int], int] = {}
    for blob in images.glob("*/blobs/sha256/*"):
        try:
            found = blob.lstat()
        except OSError:
            continue
        seen[found.st_dev, found.st_ino] = found.st_size
    return sum(seen.values())


def remove(images: Path, name: str) -> None:
    """Remove an image. Nobody sees half of it: it loses its name first. Raises OSError."""
    going = images / _GOING.format(name)
    shutil.rmtree(going, ignore_errors=True)
    durable.rename(images / name, going)
    shutil.rmtree(going)


def tidy(images: Path, coming: frozenset[str]) -> None:
    """Remove what is left of removed images, and the parts of images that are not to come any more."""
    kept = {_COMING.format(name) for name in coming}
    for folder in _folders(images):
        if folder.name.startswith(".") and folder.name.endswith((".coming", ".going")) and folder.name not in kept:
            shutil.rmtree(folder, ignore_errors=True)
