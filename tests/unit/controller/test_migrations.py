"""The database's history: up, down, and in step with the models."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import IntegrityError

from controller.db.engine import Database
from controller.db.schema import downgrade, metadata, upgrade


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path}/weft.db"


def _tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


async def test_up_and_down_and_up_again(url: str) -> None:
    database = Database(url)
    for _ in range(2):
        await upgrade(database)
        await upgrade(database)
        async with database.readers.connect() as connection:
            assert await connection.run_sync(_tables) == set(metadata.tables) | {"alembic_version"}
        await downgrade(database)
        async with database.readers.connect() as connection:
            assert await connection.run_sync(_tables) == {"alembic_version"}
    await database.close()


async def test_models_and_migrations_agree(url: str) -> None:
    database = Database(url)
    await upgrade(database)

    def differences(connection: Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata)

    async with database.readers.connect() as connection:
        assert await connection.run_sync(differences) == []
    await database.close()


CONSTRAINTS = [
    "UPDATE endpoints SET site = 1",
    'UPDATE endpoints SET "index" = 1',
    "UPDATE endpoints SET cloudlet = 'nobody'",
    "UPDATE endpoints SET max_routes = 0",
    "UPDATE cloudlets SET vtep = '192.0.2.1'",
    "UPDATE cloudlets SET state = 'gone'",
    "UPDATE pairs SET number = 0",
    "UPDATE pairs SET device = 'm1'",
    "UPDATE leases SET address = '10.1.0.2'",
    "UPDATE leases SET pair = 1, kind = 'md'",
    "UPDATE clients SET mac = '02:00:5e:00:00:01'",
    "DELETE FROM cloudlets",
    "INSERT INTO members VALUES ('blue', 'nobody', 1)",
]

ROWS = """
INSERT INTO cloudlets (name, pe, vtep, state, version, approval, labels, created_at, revision)
  VALUES ('c1', 'vpls', '192.0.2.1', 'active', 1, 0, '{}', '2026-01-01', 1),
         ('c2', 'vpls', '192.0.2.2', 'active', 1, 0, '{}', '2026-01-01', 1);
INSERT INTO endpoints (name, cloudlet, site, "index", prefix, gateway, ports, mtu, lease_seconds, created_at, revision)
  VALUES ('e1', 'c1', 1, 1, '10.1.0.0/24', '10.1.0.1', '[]', 1450, 60, '2026-01-01', 1),
         ('e2', 'c1', 2, 2, '10.2.0.0/24', '10.2.0.1', '[]', 1450, 60, '2026-01-01', 1);
INSERT INTO vcps VALUES ('blue', 'vpls', '', 0, '2026-01-01', 1);
INSERT INTO devices (name, implicit, created_at, revision)
  VALUES ('m1', 0, '2026-01-01', 1), ('m2', 0, '2026-01-01', 1);
INSERT INTO clients (device, kind, mac)
  VALUES ('m1', 'md', '02:00:5e:00:00:01'), ('m2', 'md', '02:00:5e:00:00:02');
INSERT INTO pairs (id, endpoint, device, number, used_at)
  VALUES (1, 'e1', 'm1', 0, '2026-01-01'), (2, 'e1', 'm2', 1, '2026-01-01');
INSERT INTO leases (pair, endpoint, device, kind, address, granted_at, expires_at, revision)
  VALUES (1, 'e1', 'm1', 'md', '10.1.0.2', '2026-01-01', '2026-01-01', 1),
         (2, 'e1', 'm2', 'md', '10.1.0.4', '2026-01-01', '2026-01-01', 1)
"""


async def test_what_must_be_unique_is_unique_in_the_database(url: str) -> None:
    database = Database(url)
    await upgrade(database)
    async with database.write() as session:
        for statement in ROWS.split(";"):
            await session.execute(text(statement))
    for statement in CONSTRAINTS:
        with pytest.raises(IntegrityError):
            async with database.write() as session:
                await session.execute(text(statement))
    await database.close()


async def test_many_writers_never_find_the_database_locked(url: str) -> None:
    import asyncio

    one, other = Database(url), Database(url)
    await upgrade(one)

    async def count(database: Database) -> None:
        async with database.write() as session:
            await session.execute(text("INSERT INTO devices VALUES (hex(randomblob(8)), 0, '2026-01-01', 1)"))

    async def read(database: Database) -> None:
        async with database.read() as session:
            await session.execute(text("SELECT count(*) FROM devices"))

    await asyncio.gather(*(work(d) for _ in range(40) for d in (one, other) for work in (count, read)))
    async with one.read() as session:
        assert await session.scalar(text("SELECT count(*) FROM devices")) == 80
    for database in (one, other):
        await database.close()
