"""One leader among the replicas on a PostgreSQL server; only the leader does background work."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from controller.db.engine import Database
from controller.db.notify_connection import NotifyConnection
from controller.replication import leadership, replicas
from controller.replication.leadership import Leadership, clock
from controller.replication.replicas import Replicas
from controller.runtime.wakeup import Wakeup
from lab.patience import eventually
from tests.postgres import Cluster
from tests.unit.controller.conftest import migrate


@asynccontextmanager
async def replica(url: str | None, name: str) -> AsyncIterator[Replicas]:
    database = Database(url or f"sqlite+aiosqlite:///{os.devnull}")
    one = Replicas(name, "1", database, NotifyConnection(url, name) if url else None, Wakeup())
    task = asyncio.create_task(one.run())
    try:
        yield one
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await database.close()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "BEAT", 0.05)


@pytest.fixture
def region(cluster: Cluster, template: str) -> Iterator[str]:
    with cluster.database(template) as url:
        yield url


@pytest.fixture
def own(cluster: Cluster) -> Iterator[Cluster]:
    """A server that a test may stop."""
    with Cluster() as server:
        server.create("region")
        migrate(server.url("region"))
        yield server


async def test_alone_it_leads_always() -> None:
    async with replica(None, "a") as one:
        assert one.leadership.leading


async def test_one_leads_and_another_takes_over(region: str) -> None:
    async with replica(region, "b") as other:
        async with replica(region, "a") as one:
            both = (one.leadership, other.leadership)
            await eventually(lambda: any(each.leading for each in both))
            for _ in range(20):
                await asyncio.sleep(0.01)
                assert sum(each.leading for each in both) == 1
        assert not one.leadership.leading
        await eventually(lambda: other.leadership.leading)


async def test_a_server_that_stops_ends_it(own: Cluster) -> None:
    url = own.url("region")
    async with replica(url, "a") as one, replica(url, "b") as other:
        both = (one.leadership, other.leadership)
        await eventually(lambda: sum(each.leading for each in both) == 1)
        await asyncio.to_thread(own.stop, signal.SIGQUIT)
        await eventually(lambda: not any(each.leading for each in both))
        await asyncio.to_thread(own.start)
        await eventually(lambda: sum(each.leading for each in both) == 1)


async def test_work_is_done_while_it_leads_and_stops_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    one, running, begun = Leadership(alone=False), 0, 0

    async def work() -> None:
        nonlocal running, begun
        running, begun = running + 1, begun + 1
        try:
            await asyncio.Event().wait()
        finally:
            running -= 1

    task = asyncio.create_task(one.lead(work))
    await asyncio.sleep(0)
    assert not begun
    one.promise(clock() + 60)
    await eventually(lambda: running == 1)
    one.promise(clock() + 60)
    one.resign()
    await eventually(lambda: running == 0)
    one.promise(clock() + 0.05)  # nobody renews it
    await eventually(lambda: running == 1)
    await eventually(lambda: running == 0)
    assert [begun] == [2] and not one.leading
    one.promise(clock() + 60)
    await eventually(lambda: running == 1)
    slept = clock() + 61
    monkeypatch.setattr(leadership, "clock", lambda: slept)  # the machine was suspended
    assert not one.leading
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert running == 0


async def test_work_that_fails_is_heard_of() -> None:
    one = Leadership(alone=True)

    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await one.lead(work)
