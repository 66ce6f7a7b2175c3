"""Rehearsals: transactions that are undone, whatever happens in them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sqlalchemy.ext.asyncio import AsyncSession

from controller.db.engine import Database


class _Over(Exception):  # noqa: N818 - not an error
    """Ends a rehearsal, so that it is not committed."""


@asynccontextmanager
async def transaction(database: Database, *, dry_run: bool) -> AsyncIterator[AsyncSession]:
    """Yield a session for writing. The work of a dry run is undone at the end of the block; objects that it has read
    keep their values."""
    with suppress(_Over):
        async with database.write() as session:
            yield session
            if dry_run:
                await session.flush()
                session.expunge_all()
                raise _Over
