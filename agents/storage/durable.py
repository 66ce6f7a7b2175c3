"""Files that are replaced as a whole: a crash of the process or of the host leaves the old one or the new one.

A file's own fsync does not keep its name: that is its directory's (fsync(2), "Notes"), so each rename is followed by
one of that. Nothing else in the agent renames a file.
"""

import os
from collections.abc import Callable
from pathlib import Path


def replace(path: Path, text: str, mode: int = 0o600, ready: Callable[[Path], None] | None = None) -> None:
    """The file has that text, and is on the disk with its name when this returns. `ready` is called with the new file
    before it takes the old one's place. Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)  # its mode may be another
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    if ready is not None:
        ready(fresh)
    rename(fresh, path)


def rename(fresh: Path, path: Path) -> None:
    """A file whose content is on the disk takes another one's place, for good. Raises OSError."""
    fresh.rename(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
