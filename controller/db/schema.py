"""All tables in one place, and the code that brings a database up to date with them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, MetaData

import migrations
from controller.db import (
    agent_presence,
    announce_permits,
    audit,
    bandwidths,
    blocks,
    certificates,
    claims,
    cloudlets,
    decisions,
    delegations,
    devices,
    endpoints,
    events,
    families,
    filters,
    generations,
    host_loads,
    idempotency,
    initiations,
    initiators,
    inventories,
    leases,
    members,
    moves,
    neighbour_history,
    neighbours,
    pairs,
    platforms,
    policies,
    profiles,
    replicas,
    reporters,
    revisions,
    routeservers,
    scheduled_moves,
    session_keys,
    sightings,
    static_hosts,
    stored_images,
    tokens,
    tunnels,
    ui_sessions,
    usage,
    vcps,
    vms,
    webhook_deliveries,
    webhooks,
)
from controller.db.base import Base
from controller.db.engine import Database

TABLES = (
    cloudlets,
    endpoints,
    vcps,
    members,
    devices,
    leases,
    pairs,
    blocks,
    delegations,
    neighbours,
    neighbour_history,
    reporters,
    bandwidths,
    platforms,
    host_loads,
    stored_images,
    initiators,
    events,
    idempotency,
    policies,
    inventories,
    generations,
    routeservers,
    scheduled_moves,
    session_keys,
    claims,
    usage,
    static_hosts,
    families,
    revisions,
    replicas,
    agent_presence,
    vms,
    moves,
    profiles,
    initiations,
    decisions,
    sightings,
    tokens,
    ui_sessions,
    audit,
    certificates,
    tunnels,
    filters,
    announce_permits,
    webhooks,
    webhook_deliveries,
)

metadata: MetaData = Base.metadata


class UnknownRevision(Exception):  # noqa: N818 - it says what is
    """The database has been through migrations that this release does not have."""


async def upgrade(database: Database, revision: str = "head") -> None:
    """Run the migrations up to `revision`, if it is not there yet. Raises UnknownRevision, and Unavailable for a
    database that no controller can work with."""
    await database.check()
    async with database.migrating() as connection:
        await connection.run_sync(_upgrade, revision)


async def downgrade(database: Database, revision: str = "base") -> None:
    """Revert migrations, with the loss of the data that only they hold."""
    async with database.migrating() as connection:
        await connection.run_sync(_downgrade, revision)


@cache
def head() -> str | None:
    """Return the latest migration of this release."""
    return ScriptDirectory.from_config(_config(None)).get_current_head()


@dataclass(frozen=True)
class Migration:
    """A migration: its step, its title, and what its way back loses, as its author says."""

    step: str
    title: str
    loses: str


def reverted(at: str, to: str) -> list[Migration]:
    """Return the migrations that lead from step `to` to step `at`, the latest first. Raises UnknownRevision if one of
    the steps is not among this release's, or `to` is later."""
    steps = [script.revision for script in _scripts()]
    for one in (at, to):
        if one not in steps:
            raise UnknownRevision(f"there is no step {one} in this release: it has {steps[-1]} to {steps[0]}")
    if steps.index(to) < steps.index(at):
        raise UnknownRevision(f"step {to} is later than {at}, where the database is; a controller's start goes forward")
    return [_migration(script) for script in _scripts()[steps.index(at) : steps.index(to)]]


def _migration(script: Script) -> Migration:
    said = script.module.downgrade.__doc__
    return Migration(script.revision, script.doc, " ".join(said.split()) if said else "nothing is lost")


def known(revision: str) -> bool:
    """Return whether this release has a migration."""
    return any(script.revision == revision for script in _scripts())


@cache
def _scripts() -> list[Script]:
    """Return all migrations, the latest first."""
    return list(ScriptDirectory.from_config(_config(None)).walk_revisions())


def step(connection: Connection) -> str | None:
    """Return the migration that the database is at; None if no controller has ever used it."""
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: Connection, revision: str) -> None:
    if revision == "head" and step(connection) == head():
        return  # Alembic would read all migrations first
    try:
        command.upgrade(_config(connection), revision)
    except CommandError as error:
        raise UnknownRevision(f"the database is that of a later release ({error})") from error


def _downgrade(connection: Connection, revision: str) -> None:
    command.downgrade(_config(connection), revision)


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
