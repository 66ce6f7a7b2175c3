"""The controller records when agents were last heard of, without waiting for locked rows."""

import asyncio

import pytest
from sqlalchemy import select, update

from controller.core.clock import now
from controller.db import cloudlets
from controller.db.cloudlets import CloudletRow
from controller.db.engine import Database


async def region(url: str) -> Database:
    database = Database(url)
    async with database.write() as session:
        session.add_all(CloudletRow(name=f"c{n}", pe="vpls", vtep=f"192.0.2.{n}", state="active") for n in (1, 2, 3))
    return database


async def seen(database: Database) -> dict[str, str | None]:
    async with database.read() as session:
        rows = await session.execute(select(CloudletRow.name, CloudletRow.agent_version, CloudletRow.last_seen))
        return {name: version for name, version, when in rows if when is not None}


async def test_everybody_with_the_version_if_it_is_known(database_url: str) -> None:
    database = await region(database_url)
    async with database.write() as session:
        await cloudlets.note_seen(session, {"c2": (now(), "1.2"), "c1": (now(), None), "gone": (now(), "1")})
    assert await seen(database) == {"c1": None, "c2": "1.2"}
    await database.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_a_cloudlet_that_is_being_changed_is_left_for_the_next_time(database_url: str) -> None:
    """Two transactions that take the same rows in different orders would block each other."""
    database = await region(database_url)
    async with database.write() as change:
        await change.execute(update(CloudletRow).where(CloudletRow.name == "c2").values(version=7))
        async with asyncio.timeout(5), database.write() as session:
            await cloudlets.note_seen(session, {name: (now(), "1.2") for name in ("c1", "c2", "c3")})
    assert await seen(database) == {"c1": "1.2", "c3": "1.2"}
    await database.close()
