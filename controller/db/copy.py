"""Copies a whole database into an empty one, of the same kind or the other, while controllers work on it: for a backup,
its restoration, and the move from SQLite to PostgreSQL."""

from sqlalchemy import Table, func, inspect, make_url, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.unavailable import Unavailable
from controller.db.engine import Database
from controller.db.schema import head, metadata, step, upgrade

BATCH = 1000
"""Most rows in memory at a time."""


class NotCopied(Exception):  # noqa: N818 - it says what is
    """The copy was not made; the message is one sentence for the operator."""


async def copy_database(url: str, to: str) -> str:
    """Copy the database at one URL to that at another, and return a summary of the copy. Raises NotCopied."""
    source, target = Database(url), Database(to)
    try:
        rows = await copy(source, target)
    finally:
        await source.close()
        await target.close()
    return f"{sum(rows.values())} rows of {len(rows)} tables copied to {make_url(to).render_as_string()}"


async def copy(source: Database, target: Database) -> dict[str, int]:
    """Copy everything as it is at one moment. Returns the number of rows by table. Raises NotCopied."""
    async with source.read() as reading:
        at = await reading.run_sync(lambda session: step(session.connection()))
        if at is None:
            raise NotCopied("there is nothing to copy: no controller has ever used the database")
        if at != head():
            raise NotCopied(f"the database is at step {at}, this release at {head()}: start its controller first")
        try:
            await _make(target)
            async with target.write() as writing:
                counted = {table.name: await _table(reading, writing, table) for table in metadata.sorted_tables}
                await _count_on(reading, writing)
        except (Unavailable, SQLAlchemyError) as error:
            raise NotCopied(f"the database to copy to: {error}") from error
    return counted


async def _make(target: Database) -> None:
    """Make the tables of the empty target. Raises NotCopied if the target has tables already."""
    async with target.read() as session:
        if there := await session.run_sync(lambda session: inspect(session.connection()).get_table_names()):
            raise NotCopied(f"the database to copy to is not empty: it has a table {min(there)!r}")
    await upgrade(target)


async def _table(reading: AsyncSession, writing: AsyncSession, table: Table) -> int:
    rows = await reading.stream(select(table).execution_options(yield_per=BATCH))
    count = 0
    async for some in rows.mappings().partitions(BATCH):
        await writing.execute(table.insert(), [dict(row) for row in some])
        count += len(some)
    return count


async def _count_on(reading: AsyncSession, writing: AsyncSession) -> None:
    """Set the counters of the target, so that it gives out no number again that the source gave out and has deleted
    since."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None:
            continue
        given = await _given(reading, table.name, column.name)
        last = max(given, await writing.scalar(select(func.max(column))) or 0)
        if last and _is_postgresql(writing):
            query = "SELECT setval(pg_get_serial_sequence(:table, :column), :last)"
            await writing.execute(text(query), {"table": table.name, "column": column.name, "last": last})
        elif last and table.dialect_options["sqlite"]["autoincrement"]:
            await writing.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), {"table": table.name})
            row = {"table": table.name, "last": last}
            await writing.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)"), row)


async def _given(session: AsyncSession, table: str, column: str) -> int:
    """Return the last number that was given out, as far as the database remembers it."""
    if _is_postgresql(session):
        sequence = await session.scalar(text("SELECT pg_get_serial_sequence(:t, :c)"), {"t": table, "c": column})
        query = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}"
    else:
        query = f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'"
    return await session.scalar(text(query)) or 0


def _is_postgresql(session: AsyncSession) -> bool:
    return session.get_bind().dialect.name == "postgresql"
