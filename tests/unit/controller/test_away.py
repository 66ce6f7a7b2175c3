"""The database goes away and comes back under a running controller."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator

import pytest
from sqlalchemy import text

from controller.core.unavailable import Unavailable
from controller.db import drivers, events
from controller.db.engine import Database, Lock, alone
from lab.patience import eventually
from tests.postgres import Cluster
from tests.unit.controller.conftest import Controller, Start, migrate, problem
from tests.unit.controller.fake_routeserver import FakeRouteServer

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """A database server that the test may stop."""
    with Cluster() as server:
        server.create("weft")
        migrate(server.url("weft"))
        yield server


@pytest.fixture
async def running(start: Start, route_server: FakeRouteServer, own_cluster: Cluster) -> AsyncIterator[Controller]:
    async with start(route_server, database_url=own_cluster.url("weft")) as controller:
        yield controller


async def ready(controller: Controller) -> None:
    async with asyncio.timeout(20):
        while (await controller.http.get("/readyz")).status_code != 200:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
async def test_503_while_it_is_away_and_well_when_it_is_back(
    running: Controller, own_cluster: Cluster, route_server: FakeRouteServer, how: signal.Signals
) -> None:
    pool = f"before-{how.name.lower()}"
    await running.post("/vcps", {"name": pool})
    await eventually(lambda: route_server.rules.generation == running.region.intent.generation)
    rules = route_server.rules
    own_cluster.stop(how)
    try:
        for _ in range(3):
            refused = await running.http.post("/api/v1/vcps", json={"name": f"{pool}-not"})
            problem(refused, 503, None, "The database cannot do this now")
            assert int(refused.headers["Retry-After"]) > 0
            problem(await running.http.get("/api/v1/vcps"), 503, None, "The database cannot do this now")
        keyed = {"Idempotency-Key": f"{pool}-1"}
        problem(await running.http.post("/api/v1/vcps", json={"name": "x"}, headers=keyed), 503)
        assert (await running.http.get("/healthz")).status_code == 200
        unready = await running.http.get("/readyz")
        assert unready.status_code == 503 and unready.json()["database"] is False
        running.region.runtime.event_log.note("seen-meanwhile", pool, "something happened")
        await asyncio.sleep(0.2)  # an attempt to write it down
        assert route_server.rules == rules, "what is in force goes on without the database"
    finally:
        own_cluster.start()
    await ready(running)
    assert (await running.post("/vcps", {"name": f"{pool}-after"}))["name"]
    assert (await running.http.post("/api/v1/vcps", json={"name": f"{pool}-x"}, headers=keyed)).status_code == 201
    generation = running.region.intent.generation
    await eventually(lambda: route_server.rules.generation == generation)
    await eventually(lambda: running.region.route_servers.syncs[0].reachable)
    async with asyncio.timeout(10):
        while pool not in [e["subject"] for e in (await running.get("/events", limit=1000))["items"]]:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.05)
    assert not running.region.runtime.event_log.dropped
    names = [vcp["name"] for vcp in (await running.get("/vcps", limit=1000))["items"]]
    assert pool in names and f"{pool}-not" not in names


async def test_nothing_that_was_answered_is_lost_in_a_crash(running: Controller, own_cluster: Cluster) -> None:
    made: set[str] = set()

    async def work(worker: int) -> None:
        for number in range(1000):
            name = f"crash-{worker}-{number}"
            answer = await running.http.post("/api/v1/devices", json={"name": name, "client_id": name.encode().hex()})
            if answer.status_code != 201:
                problem(answer, 503)
                return
            made.add(name)

    tasks = [asyncio.create_task(work(worker)) for worker in range(4)]
    await eventually(lambda: len(made) > 40)
    await asyncio.to_thread(own_cluster.stop, signal.SIGQUIT)
    await asyncio.gather(*tasks)
    await asyncio.to_thread(own_cluster.start)
    await ready(running)
    found = {device["name"] for device in (await running.get("/devices", limit=1000))["items"]}
    assert made <= found


async def test_connections_that_the_server_ended_are_not_noticed(running: Controller, own_cluster: Cluster) -> None:
    await running.get("/vcps")
    for _ in range(3):
        # Waits until they have ended: a signal alone could interrupt the next query.
        end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = 'weft'"
        await asyncio.to_thread(own_cluster.execute, end)
        await eventually(lambda: not running.region.database.writer.pool.checkedout())  # type: ignore[attr-defined]
        answers = await asyncio.gather(*(running.http.get("/api/v1/vcps") for _ in range(8)))
        assert [answer.status_code for answer in answers] == [200] * 8


async def test_an_event_never_appears_below_one_that_was_seen(database_url: str) -> None:
    """Two transactions begin in one order and end in the other."""
    database = Database(database_url)
    order: list[str] = []

    async def happen(name: str, pause: asyncio.Event) -> None:
        async with database.write() as session:
            await events.add(session, "test", name, name)
            await pause.wait()
        order.append(name)

    async def seen(above: int) -> list[tuple[int, str]]:
        async with database.read() as session:
            return [(row.id, row.subject) for row in await events.after(session, above, 100)]

    first, second = asyncio.Event(), asyncio.Event()
    slow, quick = asyncio.create_task(happen("slow", first)), asyncio.create_task(happen("quick", second))
    await asyncio.sleep(0)
    second.set()
    await quick
    ((number, subject),) = await seen(0)
    assert subject == "quick"
    first.set()
    await slow
    assert [name for _, name in await seen(number)] == ["slow"]
    await database.close()


async def test_who_waits_for_a_turn_too_long_is_told_so(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "BUSY_MS", 50)
    database = Database(database_url)
    async with database.write() as session:
        await alone(session, Lock.EVENTS)
        with pytest.raises(Unavailable, match="lock timeout"):
            async with database.write() as other:
                await alone(other, Lock.EVENTS)
    await database.close()


async def test_two_that_wait_for_each_other_both_get_there(database_url: str) -> None:
    """The transactions deadlock, and one of them is repeated."""
    database = Database(database_url)
    met = asyncio.Barrier(2)
    tries: list[int] = []

    async def both(first: int, second: int) -> None:
        async def work(session: object) -> None:
            tries.append(first)
            await session.execute(text(f"SELECT pg_advisory_xact_lock({first})"))  # type: ignore[attr-defined]
            if len(tries) <= 2:
                await met.wait()
            await session.execute(text(f"SELECT pg_advisory_xact_lock({second})"))  # type: ignore[attr-defined]

        await database.transact(work)

    await asyncio.gather(both(1, 2), both(2, 1))
    assert len(tries) == 3
    await database.close()
