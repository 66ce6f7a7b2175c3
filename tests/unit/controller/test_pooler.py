"""PgBouncer between a controller and its database: the settings that work, and those that are refused before any
change."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from controller.core.unavailable import Unavailable
from controller.db import schema
from controller.db.engine import Database
from tests.pgbouncer import SETTINGS, pooler
from tests.postgres import OWNER, Cluster
from tests.unit.controller.test_main import run

pytestmark = pytest.mark.skipif(
    not Path("/usr/sbin/pgbouncer").exists(), reason="no pgbouncer; lab/provision installs it"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as found:
        found.create("pooled")
        yield found


def url(where: str) -> str:
    return f"postgresql://{OWNER}@/pooled?{where}"


async def upgraded(where: str) -> None:
    database = Database(url(where))
    try:
        await schema.upgrade(database)
    finally:
        await database.close()


@pytest.mark.parametrize(
    ("mode", "more"),
    [
        ("transaction", {}),
        ("transaction", {"server_round_robin": "1"}),
        ("transaction", {"server_reset_query_always": "1"}),
        ("transaction", {"default_pool_size": "1"}),
        ("transaction", {"min_pool_size": "20", "server_round_robin": "1"}),
        ("statement", {}),
    ],
)
async def test_a_pool_of_transactions_is_refused(cluster: Cluster, mode: str, more: dict[str, str]) -> None:
    with pooler(cluster, mode, SETTINGS, **more) as where, pytest.raises(Unavailable) as refused:
        await upgraded(where)
    assert "pool_mode = session" in str(refused.value) and "directly" in str(refused.value)


async def test_a_pool_of_sessions_works(cluster: Cluster) -> None:
    with pooler(cluster, "session") as where:
        await upgraded(where)
        database = Database(url(where))
        async with database.read() as session:
            assert await session.scalar(text("SELECT count(*) FROM alembic_version")) == 1
        await database.close()


@pytest.mark.parametrize("missing", SETTINGS)
async def test_a_setting_that_is_refused_is_named(cluster: Cluster, missing: str) -> None:
    if missing == "application_name":
        pytest.skip("PgBouncer knows it by itself")
    with (
        pooler(cluster, "session", tuple(name for name in SETTINGS if name != missing)) as where,
        pytest.raises(Unavailable) as refused,
    ):
        await upgraded(where)
    assert missing in str(refused.value) and "ignore_startup_parameters" in str(refused.value)


async def test_a_controller_does_not_start(cluster: Cluster) -> None:
    with pooler(cluster, "transaction") as where:
        ended = await asyncio.to_thread(run, WEFT_DATABASE_URL=url(where), WEFT_LISTEN="127.0.0.1:0")
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("weft-controller: WEFT_DATABASE_URL: a pooler (PgBouncer) is between")


async def test_one_that_comes_between_later_is_named_too(cluster: Cluster) -> None:
    """A prepared statement is missing, as on a connection that another session has used."""
    database = Database(cluster.url("pooled"))
    with pytest.raises(Unavailable, match="pool_mode = session"):
        async with database.write() as session:
            await session.execute(text("DEALLOCATE made_up"))
    await database.close()
