"""SHA-256 digests of images, stored in a file: a base image of many gigabytes is read once, then only when it
changes."""

import asyncio
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from agents.hypervisors.hypervisor import HypervisorError
from agents.storage import durable

FILE = "digests.json"
_TRIES = 3  # while another process writes to the file


class Digests:
    """Digests of files, stored below `folder`. A file counts as unchanged while its inode, size and change times stay
    the same."""

    def __init__(self, folder: Path) -> None:
        self._path, self._lock = folder / FILE, asyncio.Lock()

    async def of(self, path: Path) -> str:
        """Return the digest of a file, in hex. Raises HypervisorError if it cannot be read, or keeps changing."""
        async with self._lock:
            return await asyncio.to_thread(self._of, path)

    def _of(self, path: Path) -> str:
        known = self._read()
        try:
            for _ in range(_TRIES):
                with path.open("rb") as file:
                    mark = _mark(file.fileno())
                    if (kept := known.get(str(path))) is not None and kept[0] == mark:
                        return kept[1]
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                    if _mark(file.fileno()) == mark:
                        self._keep(known | {str(path): (mark, digest)})
                        return digest
        except OSError as error:
            raise HypervisorError(f"{path} cannot be read: {error.strerror}") from error
        raise HypervisorError(f"{path} changes while it is read: an image is complete before it is put in its place")

    def _read(self) -> dict[str, tuple[list[int], str]]:
        """Return the stored digests. If they cannot be read, return none: they are computed again."""
        with suppress(OSError, ValueError, TypeError, AttributeError):
            kept = json.loads(self._path.read_text())
            return {str(path): ([int(n) for n in mark], str(digest)) for path, (mark, digest) in kept.items()}
        return {}

    def _keep(self, known: dict[str, tuple[list[int], str]]) -> None:
        """Store the digests. A crash leaves the old file or the new file; without one they are computed again."""
        there = {path: one for path, one in known.items() if Path(path).exists()}
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            durable.replace(self._path, json.dumps(there))


def _mark(file: int) -> list[int]:
    found = os.fstat(file)
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
