"""Names of files that are short enough for a unix socket's address."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short(path: Path) -> Iterator[str]:
    """Yield another name of `path` that is short enough for a unix socket's address (108 bytes, unix(7))."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
