"""The restoration of a backup into an empty database, also of a backup that an earlier release has made."""

import shutil
import tempfile
from datetime import datetime
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from controller.core.unavailable import Unavailable
from controller.db.copy import NotCopied, copy_database
from controller.db.engine import Database
from controller.db.schema import UnknownRevision, step, upgrade
from controller.offline.at_work import at_work
from controller.offline.database_file import database_file


async def restore(url: str, file: Path, replace: bool, at: datetime) -> str:
    """Fill the database at a URL from a backup, which stays as it is. The database has to be empty; with `replace` a
    file of SQLite is put aside before. Returns the result as text. Raises NotCopied; then a file of SQLite is as it
    was, and a server's database may have tables without rows."""
    if not file.is_file():
        raise NotCopied(f"{file}: there is no such file")
    await _check_idle(url)
    with tempfile.TemporaryDirectory(prefix="weft-restore-") as folder:
        present = f"sqlite:///{Path(folder) / 'backup.db'}"
        shutil.copyfile(file, Path(folder) / "backup.db")
        await _bring_up(present, file)
        aside = _put_aside(url, at) if replace else None
        path = database_file(url)
        new = path if path is not None and not path.exists() else None
        try:
            said = await copy_database(present, url)
        except BaseException:
            if new is not None:
                _move(aside, new)
            raise
    return f"{said}" + (f"; the former database is {aside}" if aside is not None else "")


async def _check_idle(url: str) -> None:
    try:
        somebody = await at_work(url)
    except (Unavailable, SQLAlchemyError) as error:
        raise NotCopied(f"the database to restore: {error}") from error
    if somebody:
        raise NotCopied(f"{somebody} works on the database: stop it first")


async def _bring_up(present: str, file: Path) -> None:
    """Bring a copy of the backup to this release."""
    database = Database(present)
    try:
        async with database.read() as session:
            if await session.run_sync(lambda session: step(session.connection())) is None:
                raise NotCopied(f"{file}: not a backup of a controller")
        await upgrade(database)
    except UnknownRevision as error:
        raise NotCopied(f"{file}: {error}; restore it with that release") from error
    except (Unavailable, SQLAlchemyError) as error:
        raise NotCopied(f"{file}: not a backup: {getattr(error, 'orig', error)}") from error
    finally:
        await database.close()


def _put_aside(url: str, at: datetime) -> Path | None:
    path = database_file(url)
    if path is None:
        raise NotCopied("--replace is for a database of SQLite; make an empty one on the server instead")
    if not path.exists():
        return None
    aside = path.with_name(f"{path.name}.before-{at:%Y%m%dT%H%M%SZ}")
    _move(path, aside)
    return aside


def _move(path: Path | None, to: Path) -> None:
    """Move a database to a place, with the files that SQLite keeps beside it, and remove what is there: the log of one
    database beside another would damage it. Without `path` the place becomes empty."""
    for end in ("-wal", "-shm", ""):
        there = to.with_name(f"{to.name}{end}")
        there.unlink(missing_ok=True)
        if path is not None and (beside := path.with_name(f"{path.name}{end}")).exists():
            beside.rename(there)
