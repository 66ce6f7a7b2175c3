"""A backup of the database: a file of SQLite, whatever the database is, made while controllers work."""

import os
import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from controller.core.durable import sync
from controller.db.copy import NotCopied, copy_database

_NAME = re.compile(r"^weft-\d{8}T\d{6}Z\.db$")


async def backup(url: str, folder: Path, keep: int | None, at: datetime) -> str:
    """Copy the database at a URL into a new file of a folder, named by the time, and delete the oldest of such files
    but `keep`. The file is on the disk before anything is deleted. Returns the result as text. Raises NotCopied."""
    file = folder / f"weft-{at:%Y%m%dT%H%M%SZ}.db"
    new = file.with_suffix(".new")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        said = await copy_database(url, f"sqlite:///{new}")
        sync(new)
        if file.exists():
            raise NotCopied(f"{file} is there already: it was made within this second")
        new.rename(file)
        sync(folder)
        gone = _delete(folder, keep)
    except OSError as error:
        raise NotCopied(f"{error.filename or folder}: {error.strerror}") from error
    finally:
        for left in (new, *(new.with_name(f"{new.name}{end}") for end in ("-wal", "-shm"))):
            with suppress(OSError):
                left.unlink()
    return f"{said.partition(' copied')[0]} are in {file}" + (f"; {gone} older files are deleted" if gone else "")


def _delete(folder: Path, keep: int | None) -> int:
    if keep is None:
        return 0
    files = sorted(path for path in folder.iterdir() if _NAME.match(path.name))
    old = files[: max(0, len(files) - keep)]
    for path in old:
        path.unlink()
    return len(old)
