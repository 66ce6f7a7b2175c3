"""The connections to SQLite, each with a thread of its own. The only file that imports aiosqlite.

Each visit to the thread takes a turn of the event loop, which is long while the controller has much to do. So a
statement is one visit here; aiosqlite makes four for it: a cursor, the statement, its rows, and the cursor's end."""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import aiosqlite

CHUNK = 256
"""Rows that a visit brings at most when rows are read one after the other."""

RETRY = 0.01
"""Seconds until what SQLite refuses without waiting is tried again."""


class Cursor:
    """A cursor for one statement at a time, as SQLAlchemy uses it. It brings the first rows with the statement, and has
    ended in the thread once there are no more."""

    description: Any = None
    rowcount = -1
    lastrowid: int | None = None
    arraysize = 1

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._open: sqlite3.Cursor | None = None
        self._ended = True
        self._rows: deque[Any] = deque()

    async def __aenter__(self) -> "Cursor":
        return self

    async def execute(self, statement: str, parameters: Iterable[Any] = ()) -> "Cursor":
        """Execute a statement, and read the first rows of its result."""
        return await self._visit(partial(self._run, sqlite3.Cursor.execute, statement, parameters))

    async def executemany(self, statement: str, parameters: Iterable[Any]) -> "Cursor":
        """Execute a statement once for each element of `parameters`."""
        return await self._visit(partial(self._run, sqlite3.Cursor.executemany, statement, parameters))

    async def _visit(self, work: Callable[[], None]) -> "Cursor":
        self._ended = False  # also of a statement whose caller is cancelled before the thread begins it
        await self._connection.visit(work)
        return self

    def _run(self, work: Callable[..., object], statement: str, parameters: Iterable[Any]) -> None:
        self._end()
        self._ended = False
        self._rows.clear()
        self.description = None
        cursor = self._open = self._connection.new_cursor()
        try:
            work(cursor, statement, parameters)
            self.description = cursor.description
            self._read(CHUNK)
        finally:
            self.rowcount, self.lastrowid = cursor.rowcount, cursor.lastrowid
            if self.description is None:
                self._end()

    def _read(self, most: int | None) -> None:
        """Read rows, or all of them. Ends the cursor after the last one."""
        if self._open is None or self.description is None:
            return
        rows = self._open.fetchall() if most is None else self._open.fetchmany(most)
        self._rows.extend(rows)
        if most is None or len(rows) < most:
            self._end()

    def _end(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
        self._ended = True

    async def fetchone(self) -> Any:
        """Return the next row, or None after the last one."""
        rows = await self.fetchmany(1)
        return rows[0] if rows else None

    async def fetchmany(self, size: int | None = None) -> list[Any]:
        """Return the next rows, `size` of them if there are as many."""
        wanted = self.arraysize if size is None else size
        if len(self._rows) < wanted and self._open is not None:
            await self._connection.visit(partial(self._read, max(CHUNK, wanted)))
        return [self._rows.popleft() for _ in range(min(wanted, len(self._rows)))]

    async def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        if self._open is not None:
            await self._connection.visit(partial(self._read, None))
        rows, self._rows = list(self._rows), deque()
        return rows

    async def close(self) -> None:
        """Drop the rows that are left."""
        self._rows.clear()
        if not self._ended:
            await self._connection.visit(self._end)


class Connection(aiosqlite.Connection):
    """A connection that stops once, and then closes its file. When work is cancelled twice, SQLAlchemy stops a
    connection that it is closing already. The connection's thread ends at the first stop, so the closing task would
    wait for ever for an answer to the second."""

    _stopped = False
    file: sqlite3.Connection | None = None
    """The thread's own name for what it has opened: a cancelled aiosqlite forgets its own, and would close nothing."""

    def stop(self) -> asyncio.Future[None] | None:
        if self._stopped:
            return None
        self._stopped = True
        self._tx.put_nowait((None, self._close_file))
        return super().stop()

    def _close_file(self) -> None:
        if self.file is not None:
            self.file.close()

    def cursor(self) -> Cursor:  # type: ignore[override]  # SQLAlchemy enters it, as it does aiosqlite's
        return Cursor(self)

    async def visit(self, work: Callable[[], None]) -> None:
        """Do some work in the connection's thread."""
        await self._execute(work)  # type: ignore[no-untyped-call]

    def new_cursor(self) -> sqlite3.Cursor:
        """Return a cursor of the connection, for its thread."""
        return self._conn.cursor()


async def opened(file: str, *, timeout: float, **options: Any) -> Connection:
    """Open a connection that waits `timeout` seconds for each lock. If that fails, the connection's thread ends before
    the error is raised; otherwise the thread's last message would find the event loop of an ending controller closed,
    and print a traceback."""

    def connect() -> sqlite3.Connection:
        connection.file = sqlite3.connect(file, timeout=timeout, **options)
        return connection.file

    connection = Connection(connect, CHUNK)
    connection._thread.daemon = True
    try:
        await connection
        await _journal(connection, timeout)
    except BaseException:
        connection.stop()
        await asyncio.to_thread(connection._thread.join)
        raise
    return connection


async def _journal(connection: Connection, timeout: float) -> None:
    """Give the file a write-ahead log, once for all connections. While another process makes the file, SQLite refuses
    this at once instead of waiting `timeout` seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout
    while True:
        try:
            await connection.execute_fetchall("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or loop.time() >= end:
                raise
            await asyncio.sleep(RETRY)
        else:
            return
