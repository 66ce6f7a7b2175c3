"""Whether somebody works on a database now."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import inspect

from controller.db.engine import Database
from controller.db.replicas import ReplicaRow, all_of_them
from controller.offline.database_file import database_file


async def at_work(url: str) -> str | None:
    """Return the controllers that have said within the last seconds that they work on PostgreSQL, or that another
    process has a file of SQLite open; None if nobody does."""
    path = database_file(url)
    if path is not None:
        return "another process" if path.exists() and _open_elsewhere(path) else None
    database = Database(url)
    try:
        async with database.read() as session:
            tables = await session.run_sync(lambda session: inspect(session.connection()).get_table_names())
            if ReplicaRow.__tablename__ not in tables:
                return None
            names = [replica.name for replica in await all_of_them(session) if replica.alive]
            return f"controller {', '.join(names)}" if names else None
    finally:
        await database.close()


def _open_elsewhere(path: Path) -> bool:
    """Return whether another connection has the file open: in WAL each one keeps a shared lock on it, so nobody else
    gets it alone (sqlite.org/wal.html, "Use of WAL Without Shared-Memory"). The file stays as it is."""
    with closing(sqlite3.connect(path, timeout=0.0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return True
        except sqlite3.DatabaseError:
            return False  # not a database; whoever opens it next says so
    return False
