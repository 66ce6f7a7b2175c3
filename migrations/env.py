"""Runs migrations: in the controller on its own connection; for `alembic -c migrations/alembic.ini` on the database
that WEFT_DATABASE_URL names."""

import asyncio
import os
from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection

from controller.db.base import Time
from controller.db.engine import Database
from controller.db.schema import metadata


def _plainly(kind: str, item: Any, _context: object) -> str | Literal[False]:
    """Return plain types for migrations, which do not import the models' own types."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, Time) else False


def run(connection: Connection) -> None:
    """Run all steps in one transaction. SQLite cannot alter much in place, so batch mode is used."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,
        compare_type=True,
        render_item=_plainly,
    )
    with context.begin_transaction():
        context.run_migrations()


async def run_on(url: str) -> None:
    """Open the database and run all steps on it."""
    database = Database(url)
    async with database.migrating() as connection:
        await connection.run_sync(run)
    await database.close()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    asyncio.run(run_on(os.environ.get("WEFT_DATABASE_URL", "sqlite+aiosqlite:///weft.db")))
