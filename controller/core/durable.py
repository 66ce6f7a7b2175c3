"""Files and names that are on the disk, and not only in the memory of the kernel."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Write a file's content, or the names in a directory, to the disk (fsync(2), "Notes"). Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
