"""The file of a bundle: a compressed archive with one folder."""

import gzip
import io
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.cli.failures import WrongUsage


class Archive:
    """The files of a bundle. `sizes` has the bytes of each, by its name in the archive."""

    def __init__(self, tar: tarfile.TarFile, folder: str, at: float) -> None:
        self._tar, self._folder, self._at = tar, folder, at
        self.sizes: dict[str, int] = {}

    def add(self, name: str, text: str) -> None:
        """Add a file."""
        content = text.encode("utf-8", "backslashreplace")
        entry = tarfile.TarInfo(f"{self._folder}/{name}")
        entry.size, entry.mtime, entry.mode = len(content), int(self._at), 0o600
        self._tar.addfile(entry, io.BytesIO(content))
        self.sizes[name] = len(content)


@contextmanager
def archive(to: Path, at: float) -> Iterator[Archive]:
    """Yield the archive in a new file that only the user can read; its folder is called like the file. The file does
    not stay if the block fails. Raises WrongUsage if it cannot be made."""
    try:
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise WrongUsage(f"--to: cannot make {to}: {error.strerror}") from None
    try:
        with (
            os.fdopen(descriptor, "wb") as file,
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=at) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            yield Archive(tar, to.name.removesuffix(".gz").removesuffix(".tar"), at)
    except BaseException:
        to.unlink()
        raise
