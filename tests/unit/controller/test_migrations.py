"""The database's migrations: up, down, and in agreement with the models."""

import asyncio
import importlib
import re
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import IntegrityError

import migrations
from controller.db import devices
from controller.db.engine import Database
from controller.db.schema import downgrade, metadata, upgrade
from tests.unit.controller.rows import Rows, add, common, lost, read


def _tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


async def test_up_and_down_and_up_again(empty_url: str) -> None:
    database = Database(empty_url)
    for _ in range(2):
        await upgrade(database)
        await upgrade(database)
        async with database.readers.connect() as connection:
            assert await connection.run_sync(_tables) == set(metadata.tables) | {"alembic_version"}
        await downgrade(database)
        async with database.readers.connect() as connection:
            assert await connection.run_sync(_tables) == {"alembic_version"}
    await database.close()


async def test_models_and_migrations_agree(empty_url: str) -> None:
    database = Database(empty_url)
    await upgrade(database)

    def differences(connection: Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata)

    async with database.readers.connect() as connection:
        assert await connection.run_sync(differences) == []
    await database.close()


CONSTRAINTS = [
    "UPDATE endpoints SET site = 1",
    "UPDATE endpoints SET site = 4096",
    "UPDATE endpoints SET site = 0, vni = 10",
    'UPDATE endpoints SET "index" = 1',
    "UPDATE endpoints SET cloudlet = 'nobody'",
    "UPDATE endpoints SET max_routes = 0",
    "UPDATE cloudlets SET vtep = '192.0.2.1'",
    "UPDATE cloudlets SET state = 'gone'",
    "UPDATE pairs SET number = 0",
    "UPDATE pairs SET device = 'm1'",
    "UPDATE pairs SET number = 8 WHERE id = 1",
    "UPDATE pairs SET number = 8, block = 1 WHERE id = 1",
    "UPDATE pairs SET epoch = 1",
    "INSERT INTO blocks (endpoint, block, epoch) VALUES ('e1', 1, 0)",
    "INSERT INTO blocks (endpoint, block, epoch) VALUES ('e1', -1, 0)",
    "DELETE FROM blocks",
    "UPDATE leases SET address = '10.1.0.2'",
    "UPDATE leases SET pair = 1, kind = 'md'",
    "UPDATE clients SET mac = '02:00:5e:00:00:01'",
    "DELETE FROM cloudlets",
    "INSERT INTO members VALUES ('blue', 'nobody', 1)",
]

ROWS = """
INSERT INTO cloudlets (name, pe, vtep, state, version, approval, labels, created_at, revision)
  VALUES ('c1', 'vpls', '192.0.2.1', 'active', 1, false, '{}', '2026-01-01', 1),
         ('c2', 'vpls', '192.0.2.2', 'active', 1, false, '{}', '2026-01-01', 1);
INSERT INTO endpoints (name, cloudlet, site, "index", prefix, gateway, ports, mtu, lease_seconds, created_at, revision)
  VALUES ('e1', 'c1', 1, 1, '10.1.0.0/24', '10.1.0.1', '[]', 1450, 60, '2026-01-01', 1),
         ('e2', 'c1', 2, 2, '10.2.0.0/24', '10.2.0.1', '[]', 1450, 60, '2026-01-01', 1);
INSERT INTO vcps (name, flavour, description, managed_by_policy, created_at, revision)
    VALUES ('blue', 'vpls', '', false, '2026-01-01', 1);
INSERT INTO devices (name, implicit, created_at, revision)
  VALUES ('m1', false, '2026-01-01', 1), ('m2', false, '2026-01-01', 1);
INSERT INTO clients (device, kind, mac)
  VALUES ('m1', 'md', '02:00:5e:00:00:01'), ('m2', 'md', '02:00:5e:00:00:02');
INSERT INTO delegations (endpoint, epoch, incarnation, turn, applied, longest, made_at)
  VALUES ('e1', 1, 'a', 1, 1, 60, '2026-01-01');
INSERT INTO blocks (endpoint, block, epoch) VALUES ('e1', 0, 0), ('e1', 1, 1), ('e2', 1, 1);
INSERT INTO pairs (id, endpoint, device, number, block, epoch, used_at)
  VALUES (1, 'e1', 'm1', 0, 0, 0, '2026-01-01'), (2, 'e1', 'm2', 1, 0, 0, '2026-01-01');
INSERT INTO leases (pair, endpoint, device, kind, address, granted_at, expires_at, revision)
  VALUES (1, 'e1', 'm1', 'md', '10.1.0.2', '2026-01-01', '2026-01-01', 1),
         (2, 'e1', 'm2', 'md', '10.1.0.4', '2026-01-01', '2026-01-01', 1)
"""


async def test_what_must_be_unique_is_unique_in_the_database(empty_url: str) -> None:
    database = Database(empty_url)
    await upgrade(database)
    async with database.write() as session:
        for statement in ROWS.split(";"):
            await session.execute(text(statement))
    for statement in CONSTRAINTS:
        with pytest.raises(IntegrityError):
            async with database.write() as session:
                await session.execute(text(statement))
    await database.close()


async def test_many_writers_never_find_the_database_locked(empty_url: str) -> None:
    one, other = Database(empty_url), Database(empty_url)
    await upgrade(one)

    async def count(database: Database, number: int) -> None:
        async with database.write() as session:
            devices.add(session, f"m{number}")

    async def read(database: Database, _number: int) -> None:
        async with database.read() as session:
            await session.execute(text("SELECT count(*) FROM devices"))

    databases = [one, other] * 40
    await asyncio.gather(*(work(d, i) for i, d in enumerate(databases) for work in (count, read)))
    async with one.read() as session:
        assert await session.scalar(text("SELECT count(*) FROM devices")) == 80
    for database in (one, other):
        await database.close()


async def test_controllers_that_start_together_migrate_once(empty_url: str) -> None:
    databases = [Database(empty_url) for _ in range(4)]
    await asyncio.gather(*(upgrade(database) for database in databases))
    async with databases[0].readers.connect() as connection:
        assert await connection.run_sync(_tables) == set(metadata.tables) | {"alembic_version"}
    for database in databases:
        await database.close()


@pytest.mark.parametrize("empty_url", ["postgresql"], indirect=True)
async def test_names_are_in_the_order_of_their_bytes(empty_url: str) -> None:
    database = Database(empty_url)
    await upgrade(database)
    async with database.write() as session:
        query = (
            "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE collation_name IS NULL AND"
        )
        where = "table_schema = 'public' AND data_type = 'character varying' AND character_maximum_length = 63"
        wrong = list(await session.scalars(text(f"{query} {where}")))
        assert not wrong, "a migration makes these without the collation (migrations/README.md)"
        for name in ("ab", "a-b", "a1", "a", "b"):
            devices.add(session, name)
        await session.flush()
        assert [row.name for row in await devices.page(session, "", 9)] == ["a", "a-b", "a1", "ab", "b"]
    await database.close()


HISTORY = ScriptDirectory(str(Path(migrations.__file__).parent))
REVISIONS = [script.revision for script in HISTORY.walk_revisions()][::-1]
"""The revisions in the order of their migrations, which is not always that of their numbers."""


def step(revision: str) -> Any:
    """Return the module of a migration."""
    (path,) = Path(migrations.__file__).parent.glob(f"versions/{revision}_*.py")
    return importlib.import_module(f"migrations.versions.{path.stem}")


def _of_pairs_without_device(rows: Rows) -> Rows:
    bare = [pair for pair in rows["pairs"] if pair["device"] is None]
    numbers = {pair["id"] for pair in bare}
    return {"pairs": bare, "leases": [lease for lease in rows["leases"] if lease["pair"] in numbers]}


GONE: dict[str, Callable[[Rows], Rows]] = {
    "0008": _of_pairs_without_device,  # the release before has no reservations
    "0010": lambda rows: {"policies": [row for row in rows["policies"] if row["withdrawn_at"] is not None]},  # in force
    "0020": lambda rows: {"tokens": [row for row in rows["tokens"] if row["tenant"] is not None]},  # too strong without
}
"""The rows that the downgrade from a revision deletes, and the reason. All others stay."""

REWRITTEN: dict[str, dict[str, set[str]]] = {
    "0009": {"endpoints": {"site"}, "generations": {"fabric"}},  # numbers that the release before cannot store
    "0050": {"cloudlets": {"pe"}, "vcps": {"flavour"}, "endpoints": {"vni"}},  # IP VPNs
}
"""The columns, by table, whose values the downgrade from a revision changes, and the reason. All others stay."""


@pytest.mark.slow
async def test_every_step_keeps_the_data_up_and_down(empty_url: str) -> None:
    """At each revision the test adds two rows to every table; all rows go up to the last revision, down to the first,
    and up again at once. Only declared losses are permitted: a column or a table in the step's docstring, rows in GONE,
    values in REWRITTEN."""
    database = Database(empty_url)

    async def rows() -> Rows:
        await database.readers.dispose()  # statements prepared for the earlier tables no longer work
        async with database.readers.connect() as connection:
            return await connection.run_sync(read)

    async def add_a_row(number: int) -> None:
        async with database.writer.connect() as connection:
            await connection.run_sync(add, number)
            await connection.commit()

    for number, revision in enumerate(REVISIONS):
        before = await rows()
        await upgrade(database, revision)
        _same(f"up to {revision}", before, await rows())
        await add_a_row(2 * number)
        await add_a_row(2 * number + 1)
    async with database.write() as session:
        await session.execute(text("UPDATE endpoints SET site = site + 5000 WHERE vni IS NOT NULL"))  # no VE ID
    for revision, below in zip(reversed(REVISIONS[1:]), reversed(REVISIONS[:-1]), strict=True):
        before = await rows()
        await downgrade(database, below)
        after = await rows()
        said = set(re.findall(r"\w+", step(revision).downgrade.__doc__ or ""))
        unsaid = {name for name in lost(before, after) if name.rpartition(".")[2] not in said}
        assert not unsaid, f"the docstring of downgrade() in {revision} is to say that it loses these"
        kept = _without(before, GONE[revision](before)) if revision in GONE else before
        _same(f"down from {revision}", kept, after, REWRITTEN.get(revision, {}))
    before = await rows()
    await upgrade(database)
    _same("up from the first to the last", before, await rows())
    await downgrade(database)
    await upgrade(database)
    await database.close()


NAMED = "vcps: {}\ntenants: {acme: {}, beta: {consent: false}, delta: {consent: true}}\n"


@pytest.mark.parametrize(
    ("texts", "counted"), [((NAMED,), ["e1"]), (("vcps: {}\n",), []), ((NAMED, ": ["), []), ((), [])]
)
async def test_who_was_not_asked_before_counts_as_having_consented(
    empty_url: str, texts: tuple[str, ...], counted: list[str]
) -> None:
    """The policy in force, which is the last one, decides. Consents that another release has requested stay as they
    are."""
    database = Database(empty_url)
    await upgrade(database, "0028")
    async with database.write() as session:
        for statement in ROWS.split(";"):
            await session.execute(text(statement))
        for number, name in enumerate(("acme", "delta"), 1):
            await session.execute(text(f"UPDATE endpoints SET tenant = '{name}' WHERE name = 'e{number}'"))
        for policy in texts:
            values = "'p.yaml', :policy, 1, '2026-01-01', ''"
            insert = f"INSERT INTO policies (filename, text, generation, applied_at, note) VALUES ({values})"
            await session.execute(text(insert).bindparams(policy=policy))
    await upgrade(database)
    given = text("SELECT name FROM endpoints WHERE consented_by IS NOT NULL AND consent_at IS NOT NULL ORDER BY name")
    async with database.read() as session:
        assert list(await session.scalars(given)) == counted
    await downgrade(database, "0028")
    async with database.read() as session:
        assert list(await session.scalars(given)) == []
    await database.close()


def _without(rows: Rows, gone: Rows) -> Rows:
    assert all(gone.values()), "there is no such row to lose"
    return {table: [row for row in found if row not in gone.get(table, [])] for table, found in rows.items()}


def _same(way: str, before: Rows, after: Rows, rewritten: Mapping[str, Set[str]] = MappingProxyType({})) -> None:
    """Check that every table that exists before and after has the same rows, by the columns that it has on both
    sides."""
    one, other = common(_but(before, rewritten), _but(after, rewritten))
    for table in one:
        assert other[table] == one[table], f"{way}: {table}"


def _but(rows: Rows, columns: Mapping[str, Set[str]]) -> Rows:
    return {
        table: [{name: value for name, value in row.items() if name not in columns.get(table, ())} for row in found]
        for table, found in rows.items()
    }
