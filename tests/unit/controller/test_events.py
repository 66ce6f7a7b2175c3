"""Events as rows, in both databases: they read back as written, and their numbers follow the order of commits."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from controller.db import events
from controller.db.engine import Database, Lock, alone
from controller.db.events import Which


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


async def test_each_filter_finds_its_events_and_no_others(database: Database) -> None:
    async with database.write() as session:
        await events.add(session, "member-joined", "c1-lan", "", vcp="blue", endpoint="c1-lan")
        await events.add(session, "move-done", "web", "", vm="web", from_cloudlet="c1", to_cloudlet="c2")
        await events.add(session, "move_done", "c10", "", many=["c1-lan", "x%y", "a_b"])
        await events.add(session, "agent-problems", "c3", "", caused_by="cloudlet:c3")
        await events.add(session, "lease-granted", "ana", "", caused_by="endpoint:c3-lan", address="10.3.0.2")
    async with database.read() as session:
        everything = await events.after(session, 0, 10)
        middle = everything[2].at
        expected: list[tuple[Which, list[int]]] = [
            (Which(), [0, 1, 2, 3, 4]),
            (Which(type="member-joined"), [0]),
            (Which(type="move-*"), [1]),
            (Which(type="mov*"), [1, 2]),
            (Which(type="%"), []),
            (Which(type="move%*"), []),
            (Which(about="blue"), [0]),
            (Which(about="c1-lan"), [0, 2]),
            (Which(about="c1"), [1]),
            (Which(about="web"), [1]),
            (Which(about="c3"), [3]),
            (Which(about="c3-lan"), [4]),
            (Which(about="x%"), []),
            (Which(about="x%y"), [2]),
            (Which(about="a_b"), [2]),
            (Which(about="a-b"), []),
            (Which(about='"'), []),
            (Which(source="cloudlet:c3"), [3]),
            (Which(since=middle), [i for i in range(5) if everything[i].at >= middle]),
            (Which(until=middle), [i for i in range(5) if everything[i].at < middle]),
            (Which(before=everything[2].id), [0, 1]),
            (Which(type="lease-*", about="ana", source="endpoint:c3-lan", since=everything[0].at), [4]),
        ]
        for which, indices in expected:
            wanted = [everything[i].id for i in indices]
            assert [row.id for row in await events.after(session, 0, 10, which)] == wanted, which
            assert [row.id for row in await events.newest(session, 10, which)] == wanted, which
            assert [row.id for row in await events.newest(session, 1, which)] == wanted[-1:], which


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
