"""Events as rows, in both databases: what was said comes back, and numbers follow the order of commits."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from controller.db import events
from controller.db.engine import Database, Lock, alone


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    found = Database(database_url)
    yield found
    await found.close()


async def kept(database: Database) -> list[tuple[str, str, object]]:
    async with database.read() as session:
        return [(row.type, row.text, row.data) for row in await events.after(session, 0, 10)]


async def test_what_was_said_comes_back(database: Database) -> None:
    data: dict[str, Any] = {
        "nul": "a\0b",
        "none": None,
        "deep": [1, {"surrogate": "\ud800"}],
        "list": [],
        "number": 0.5,
    }
    async with database.write() as session:
        await events.add(session, "first", "c1", "a\0b", **data)
        await events.add(session, "second", "c1", "nothing more")
    assert await kept(database) == [("first", "a\ufffdb", data), ("second", "nothing more", {})]


async def test_who_writes_waits_for_the_turn(database: Database) -> None:
    async def write(type: str) -> None:
        async with database.write() as session:
            await events.add(session, type, "c1", "")

    async with database.write() as session:
        await alone(session, Lock.EVENTS)
        later = asyncio.create_task(write("later"))
        await asyncio.sleep(0.2)
        assert not later.done()
        await events.add(session, "earlier", "c1", "")
    await later
    assert [type for type, _, _ in await kept(database)] == ["earlier", "later"]
