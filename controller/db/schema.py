"""All tables in one place, and the way to bring a database up to date with them."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData

import migrations
from controller.db import (
    cloudlets,
    devices,
    endpoints,
    events,
    generations,
    idempotency,
    leases,
    members,
    pairs,
    policies,
    routeservers,
    vcps,
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
    events,
    idempotency,
    policies,
    generations,
    routeservers,
)

metadata: MetaData = Base.metadata


async def upgrade(database: Database, revision: str = "head") -> None:
    """Runs the migrations up to `revision`; does nothing on a database that is there already."""
    async with database.writer.connect() as connection:
        await connection.run_sync(_upgrade, revision)
        await connection.commit()


async def downgrade(database: Database, revision: str = "base") -> None:
    """Takes migrations back, with the data that only they hold."""
    async with database.writer.connect() as connection:
        await connection.run_sync(_downgrade, revision)
        await connection.commit()


def _upgrade(connection: Connection, revision: str) -> None:
    command.upgrade(_config(connection), revision)


def _downgrade(connection: Connection, revision: str) -> None:
    command.downgrade(_config(connection), revision)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
