"""Backups of a running controller, taken as docs/operate/database.md says, and the state of a controller that starts on
one."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import make_url

from controller.db.copy import copy_database
from controller.db.engine import Database
from lab.patience import eventually
from tests.postgres import Cluster
from tests.tiers import smoke_first
from tests.unit.controller.conftest import Controller, Start, migrate
from tests.unit.controller.rows import add, read
from tests.unit.controller.test_main import run

Backup = Callable[[str, str], Awaitable[None]]


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, cluster: Cluster) -> Iterator[str]:
    """Yield the URL of an empty database in another place."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/elsewhere.db"
        return
    with cluster.database() as url:
        yield url


async def by_copy(url: str, place: str) -> None:
    await copy_database(url, place)


async def by_pg_dump(cluster: Cluster, directory: Path, url: str, place: str) -> None:
    plain, there = (u.replace("+asyncpg", "") for u in (url, place))
    await asyncio.to_thread(cluster.tool, "pg_dump", "-Fc", "-f", str(directory / "dump"), plain)
    await asyncio.to_thread(cluster.tool, "pg_restore", "--exit-on-error", "-d", there, str(directory / "dump"))


async def by_vacuum(url: str, place: str) -> None:
    with sqlite3.connect(make_url(url).database or "") as connection:
        connection.execute("VACUUM INTO ?", (make_url(place).database,))
    connection.close()


async def by_backup(url: str, place: str) -> None:
    def backup() -> None:
        source, to = (sqlite3.connect(make_url(u).database or "") for u in (url, place))
        source.backup(to)
        source.close()
        to.close()

    await asyncio.to_thread(backup)


WAYS = [
    ("sqlite", "postgresql", "copy"),
    ("postgresql", "postgresql", "pg_dump"),
    ("sqlite", "sqlite", "copy"),
    ("postgresql", "sqlite", "copy"),
    ("postgresql", "postgresql", "copy"),
    ("sqlite", "sqlite", "vacuum"),
    ("sqlite", "sqlite", "backup"),
]


@pytest.mark.parametrize(
    ("database_url", "place", "way"),
    smoke_first(2, WAYS),
    indirect=["database_url", "place"],
    ids=["-".join(way) for way in WAYS],
)
async def test_what_was_answered_before_a_backup_is_in_it(
    start: Start, database_url: str, place: str, way: str, cluster: Cluster, tmp_path: Path
) -> None:
    ways: dict[str, Backup] = {
        "copy": by_copy,
        "pg_dump": lambda url, to: by_pg_dump(cluster, tmp_path, url, to),
        "vacuum": by_vacuum,
        "backup": by_backup,
    }
    async with start() as controller:
        agent = await controller.agent("c1", 1)
        with load(controller) as made:
            await eventually(lambda: len(made) > 10)
            lease = (await agent.lease(endpoint="c1-lan", mac="02:00:5e:00:00:01")).json()
            generation, answered = controller.region.intent.generation, set(made)
            await ways[way](database_url, place)
        ended = await controller.http.delete("/api/v1/leases/1")
        assert ended.status_code == 204
    async with start(database_url=place) as restored:
        vcps = {vcp["name"]: vcp for vcp in (await restored.get("/vcps", limit=1000))["items"]}
        assert answered <= vcps.keys() and restored.region.intent.generation >= generation
        (held,) = (await restored.get("/leases"))["items"]
        assert held["address"] == lease["address"] and held["id"] == 1
        await restored.http.delete("/api/v1/leases/1")
        again = await ask(restored, agent.headers)
        assert again.json()["address"] == lease["address"], "the agent's credential is good, and the pair kept"
        assert [row["id"] for row in (await restored.get("/leases"))["items"]] == [2], "ids are not given twice"


async def ask(controller: Controller, headers: dict[str, str]) -> httpx.Response:
    return await controller.http.post(
        "/api/v1/agent/leases", json={"endpoint": "c1-lan", "mac": "02:00:5e:00:00:01"}, headers=headers
    )


@contextmanager
def load(controller: Controller) -> Iterator[list[str]]:
    """Create pools one after the other during the block; yield the names of those that were answered."""
    made: list[str] = []

    async def work(worker: int) -> None:
        for number in range(10_000):
            made.append((await controller.post("/vcps", {"name": f"p{worker}-{number}"}))["name"])

    tasks = [asyncio.create_task(work(worker)) for worker in range(3)]
    try:
        yield made
    finally:
        for task in tasks:
            task.cancel()


@pytest.mark.parametrize(
    ("database_url", "place"),
    [("sqlite", "postgresql"), ("postgresql", "sqlite")],
    indirect=True,
    ids=["sqlite-postgresql", "postgresql-sqlite"],
)
async def test_a_copy_is_the_same_row_by_row(database_url: str, place: str) -> None:
    source = Database(database_url)
    async with source.writer.connect() as connection:
        for number in range(6):
            await connection.run_sync(add, number)
        await connection.commit()
    told = await copy_database(database_url, place)
    assert "rows of" in told and "password" not in told
    target = Database(place)
    async with source.readers.connect() as one, target.readers.connect() as other:
        here, there = await one.run_sync(read), await other.run_sync(read)
    await source.close()
    await target.close()
    assert here.keys() == there.keys()
    for table in here:
        assert len(here[table]) == 6, table
        assert alike(here[table]) == alike(there[table]), table


def alike(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows sorted, with times in UTC, as the two databases write them differently."""
    plain = [{column: _plain(row[column]) for column in sorted(row)} for row in rows]
    return sorted(plain, key=repr)


def _plain(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


@pytest.mark.slow
def test_what_cannot_be_copied_is_said_in_a_sentence(tmp_path: Path) -> None:
    url, other = f"sqlite:///{tmp_path}/weft.db", f"sqlite:///{tmp_path}/other.db"

    def refused(to: str, reason: str) -> None:
        done = run("copy", "--to", to, WEFT_DATABASE_URL=url)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and reason in done.stderr, done.stderr

    refused(other, "nothing to copy")
    migrate(url)
    migrate(other)
    refused(other, "not empty")
    refused("postgresql://weft@/weft?host=/nonexistent", "the database to copy to: ")
    refused("mysql://weft@localhost/weft", "the database is sqlite:///FILE or postgresql://")
    done = run("copy", "--to", f"sqlite:///{tmp_path}/new.db", WEFT_DATABASE_URL=url)
    assert done.returncode == 0 and "rows of" in done.stdout, done.stderr
    with sqlite3.connect(tmp_path / "weft.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()
    refused(f"sqlite:///{tmp_path}/newer.db", "the database is at step 0001, this release at")
