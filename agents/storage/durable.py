"""Files that are replaced as a whole: a crash of the process or of the host leaves the old file or the new file.

The fsync of a file does not store its name: only the fsync of its directory does (fsync(2), "Notes"). An fsync of the
directory therefore follows each rename. No other part of the agent renames files, except that of metrics, which need
not survive the host.
"""

import os
from collections.abc import Callable
from pathlib import Path


def replace(path: Path, text: str, mode: int = 0o600, ready: Callable[[Path], None] | None = None) -> None:
    """Replace the file `path` with `text`. When this returns, the content and the name are on the disk. `ready` is
    called with the new file before it takes the place of the old one. Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)  # a file left by a crash may have another mode
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    if ready is not None:
        ready(fresh)
    rename(fresh, path)


def rename(fresh: Path, path: Path) -> None:
    """Rename `fresh` to `path`, so that the name is on the disk too. The content of `fresh` is already there. Raises
    OSError."""
    fresh.rename(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def put_in_place(made: Path, path: Path) -> None:
    """Give a folder that is complete its name, once all of it is on the disk. Raises OSError."""
    os.sync()
    rename(made, path)
