"""A database driver used by requests that are cancelled in the middle."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from controller.db import drivers
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
