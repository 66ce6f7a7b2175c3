"""Statements on SQLite: one visit to the connection's thread each, with results of any size."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from controller.db import drivers
from controller.db.sqlite_connection import CHUNK, Connection

ROWS = 3 * CHUNK


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = drivers.sqlite(drivers.with_driver(f"sqlite:///{tmp_path}/weft.db"), "BEGIN", pool_size=1, max_overflow=0)
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE numbers (n INTEGER PRIMARY KEY)"))
        await connection.execute(text("INSERT INTO numbers VALUES (:n)"), [{"n": n} for n in range(ROWS)])
    yield engine
    await engine.dispose()


@pytest.fixture
def visits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The visits to threads of connections that have begun."""
    found: list[str] = []
    execute = Connection._execute

    async def counted(connection: Connection, work: Callable[..., object], *more: object) -> object:
        found.append(str(work))
        return await execute(connection, work, *more)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(Connection, "_execute", counted)
    return found


@pytest.mark.parametrize(("rows", "most"), [(0, 3), (1, 3), (CHUNK - 1, 3), (CHUNK, 4), (ROWS, 4)])
async def test_a_statement_is_one_visit(engine: AsyncEngine, visits: list[str], rows: int, most: int) -> None:
    """BEGIN, the statement and ROLLBACK are three; all the rows beyond the first CHUNK are one more."""
    async with engine.connect() as connection:
        found = (await connection.scalars(text("SELECT n FROM numbers WHERE n < :rows"), {"rows": rows})).all()
    assert found == list(range(rows))
    assert len(visits) == most, visits


async def test_a_stream_brings_rows_a_chunk_at_a_time(engine: AsyncEngine, visits: list[str]) -> None:
    async with engine.connect() as connection:
        stream = await connection.stream(text("SELECT n FROM numbers"), execution_options={"yield_per": 10})
        assert [row.n async for row in stream] == list(range(ROWS))
    assert len(visits) <= 3 + ROWS // CHUNK + 1, visits


async def test_a_stream_that_is_left_holds_no_snapshot(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        async with connection.stream(text("SELECT n FROM numbers")) as stream:
            assert (await stream.fetchone() or [None])[0] == 0
        await connection.rollback()
        await drop(connection)


async def test_a_statement_that_is_cancelled_holds_no_snapshot(engine: AsyncEngine) -> None:
    for pause in (0, 0.001, 0.01):
        async with engine.connect() as connection:
            reading = asyncio.create_task(read(connection))
            await asyncio.sleep(pause)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
    async with engine.connect() as connection:
        await drop(connection)


async def read(connection: AsyncConnection) -> None:
    await connection.stream(text("SELECT a.n FROM numbers a, numbers b"))


async def drop(connection: AsyncConnection) -> None:
    """Drop the table, which SQLite refuses while a statement of the connection reads it."""
    await connection.execute(text("DROP TABLE numbers"))
    await connection.rollback()


async def test_counts_numbers_and_rows_that_are_returned(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        changed = await connection.execute(text("UPDATE numbers SET n = -n WHERE n > 0 AND n <= 5"))
        assert changed.rowcount == 5
        added = await connection.execute(text("INSERT INTO numbers VALUES (:n) RETURNING n"), {"n": 9999})
        assert added.scalar_one() == 9999
        assert (await connection.execute(text("INSERT INTO numbers VALUES (10000)"))).lastrowid == 10000
        assert list((await connection.execute(text("SELECT n AS m FROM numbers WHERE n > 9998"))).keys()) == ["m"]


async def test_an_error_ends_the_statement_alone(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        with pytest.raises(IntegrityError):
            await connection.execute(text("INSERT INTO numbers VALUES (:n)"), [{"n": ROWS}, {"n": 0}])
        assert await connection.scalar(text("SELECT max(n) FROM numbers")) == ROWS
