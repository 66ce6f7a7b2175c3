"""Times of last use, written in the background: a request that reads does not wait for the database's write lock."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.clock import now
from controller.core.unavailable import Unavailable
from controller.db.engine import Database

Write = Callable[[AsyncSession, str, datetime], Awaitable[None]]
"""Writes the time of a use, by its key."""


class Uses:
    """The last uses of tokens or sessions, by their keys. A use is noted if none was for the time `every`."""

    def __init__(self, database: Database, every: timedelta, write: Write) -> None:
        self.every = every
        self._database, self._write = database, write
        self._noted: dict[str, datetime] = {}
        self._unwritten: dict[str, datetime] = {}
        self._wanted, self._turn = asyncio.Event(), asyncio.Lock()

    def note(self, key: str, written: datetime | None, at: datetime) -> None:
        """Note a use. `written` is the last one in the database."""
        last = max(filter(None, (written, self._noted.get(key))), default=None)
        if last is None or at >= last + self.every:
            self._noted[key] = self._unwritten[key] = at
            self._wanted.set()

    async def run(self) -> None:
        """Write uses as they are noted, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self.write()

    async def write(self) -> None:
        """Write what is noted. If the database is away, the next use of each is noted instead."""
        async with self._turn:
            uses, recent = dict(self._unwritten), now() - self.every
            self._noted = {key: at for key, at in self._noted.items() if at > recent}
            if not uses:
                return
            try:
                async with self._database.write() as session:
                    for key, at in sorted(uses.items()):  # in one order at every replica: no deadlock
                        await self._write(session, key, at)
            except Unavailable:
                self._noted = {key: at for key, at in self._noted.items() if key not in uses}
            self._unwritten = {key: at for key, at in self._unwritten.items() if uses.get(key) != at}
