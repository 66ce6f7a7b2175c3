"""A database driver whose work is cancelled in the middle, or whose file another process holds."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from controller.db import drivers
from controller.db.engine import Database
from controller.db.schema import upgrade
from controller.db.sqlite_connection import opened
from lab.patience import eventually

LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) FROM n"


@pytest.mark.parametrize("pause", [0.0, 0.001, 0.1])
async def test_whatever_is_cancelled_twice_leaves_no_task_behind(tmp_path: Path, pause: float) -> None:
    """A caller closes the connection, and a scope of anyio cancels again as long as work continues inside."""
    engine = drivers.sqlite(drivers.with_driver(f"sqlite:///{tmp_path}/weft.db"), "BEGIN")

    async def work() -> None:
        async with engine.connect() as connection:
            await connection.execute(text(LONG))

    await work()
    before = asyncio.all_tasks()
    for _ in range(10):
        working = asyncio.create_task(work())
        await asyncio.sleep(0.005)
        for _ in range(3):
            working.cancel()
            await asyncio.sleep(pause)
        with pytest.raises(asyncio.CancelledError):
            await working
    await eventually(lambda: asyncio.all_tasks() == before, lambda: asyncio.all_tasks() - before, 10)
    await work()
    await engine.dispose()


LOCKS = ["IMMEDIATE", "EXCLUSIVE"]
"""The locks of a process that makes the file. SQLite refuses a change of the journal's kind at once under the first,
and waits under the second."""


@pytest.mark.parametrize("lock", LOCKS)
async def test_a_new_file_that_another_process_makes_is_waited_for(tmp_path: Path, lock: str) -> None:
    database = Database(f"sqlite:///{tmp_path}/weft.db")
    with closing(sqlite3.connect(tmp_path / "weft.db", isolation_level=None)) as other:
        other.execute(f"BEGIN {lock}")
        other.execute("CREATE TABLE half (made)")
        start = asyncio.create_task(upgrade(database))
        done, _ = await asyncio.wait([start], timeout=0.3)
        assert not done
        other.execute("ROLLBACK")
        await start
    async with database.read() as session:
        assert await session.scalar(text("PRAGMA journal_mode")) == "wal"
    await database.close()


@pytest.mark.parametrize("lock", LOCKS)
async def test_a_file_that_stays_held_is_reported_and_left(
    tmp_path: Path, lock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "BUSY_MS", 50)
    engine = drivers.sqlite(drivers.with_driver(f"sqlite:///{tmp_path}/weft.db"), "BEGIN")
    before = asyncio.all_tasks()
    with closing(sqlite3.connect(tmp_path / "weft.db", isolation_level=None)) as other:
        other.execute(f"BEGIN {lock}")
        with pytest.raises(OperationalError, match="database is locked"):
            async with engine.connect():
                pass
    assert asyncio.all_tasks() == before
    async with engine.connect() as connection:
        assert await connection.scalar(text("PRAGMA foreign_keys")) == 1
    await engine.dispose()


class Slow(sqlite3.Connection):
    """A connection that takes its time to come up, and notes its end."""

    begun, closed = Event(), False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        Slow.begun.set()
        time.sleep(0.1)
        super().__init__(*arguments, **options)

    def close(self) -> None:
        Slow.closed = True
        super().close()


async def test_a_connection_whose_caller_is_cancelled_is_closed(tmp_path: Path) -> None:
    opening = asyncio.create_task(opened(str(tmp_path / "weft.db"), timeout=1, factory=Slow))
    assert await asyncio.to_thread(Slow.begun.wait, 10)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert Slow.closed


async def test_a_connection_is_closed_whose_caller_is_cancelled_before_it_hears_of_it(tmp_path: Path) -> None:
    there = Event()

    class Kept(sqlite3.Connection):
        closed = False

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            made.append(self)
            there.set()

        def close(self) -> None:
            self.closed = True
            super().close()

    made: list[Kept] = []
    opening = asyncio.create_task(opened(str(tmp_path / "weft.db"), timeout=1, factory=Kept))
    await asyncio.sleep(0)
    assert there.wait(10)  # in the loop's own thread: the task does not run meanwhile
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert [connection.closed for connection in made] == [True]
