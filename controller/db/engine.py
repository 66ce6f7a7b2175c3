"""Connections and transactions, and all that differs between SQLite and PostgreSQL.

SQLite allows one writer: writes queue for a lock of ours and begin IMMEDIATE, so none ever fails with "database is
locked"; readers see the last commit (WAL) and never wait. PostgreSQL does both by itself.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import event, make_url, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

BUSY_MS = 10_000
"""How long a statement waits for a lock that another process holds."""


class Database:
    """Engines and sessions. `read()` gives a session on a snapshot, `write()` one that commits when its block ends."""

    def __init__(self, url: str) -> None:
        self._sqlite = make_url(url).get_backend_name() == "sqlite"
        self._turn = asyncio.Lock()
        self.readers = self._engine(url, "BEGIN")
        self.writer = (
            self._engine(url, "BEGIN IMMEDIATE", pool_size=1, max_overflow=0) if self._sqlite else self.readers
        )

    def _engine(self, url: str, begin: str, **options: Any) -> AsyncEngine:
        if not self._sqlite:
            return create_async_engine(url, pool_pre_ping=True, **options)
        engine = create_async_engine(url, **options)

        @event.listens_for(engine.sync_engine, "connect")
        def prepare(connection: Any, _record: object) -> None:
            connection.isolation_level = None  # pysqlite begins nothing by itself: the listener below does
            cursor = connection.cursor()
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_MS}"):
                cursor.execute(f"PRAGMA {pragma}")
            cursor.close()

        @event.listens_for(engine.sync_engine, "begin")
        def start(connection: Any) -> None:
            connection.exec_driver_sql(begin)

        return engine

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """A session for reading."""
        async with AsyncSession(self.readers, expire_on_commit=False) as session:
            yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """A session whose work is one transaction: committed at the end of the block, undone if it raises."""
        async with self._turn, AsyncSession(self.writer, expire_on_commit=False) as session, session.begin():
            yield session

    async def answers(self) -> bool:
        """Whether the database can be read now."""
        try:
            async with self.read() as session:
                await session.execute(text("SELECT 1"))
        except Exception:  # whatever the driver raises, the answer is no
            return False
        return True

    async def close(self) -> None:
        """Closes every connection."""
        await self.readers.dispose()
        await self.writer.dispose()
