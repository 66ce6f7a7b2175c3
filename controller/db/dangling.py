"""Rows that refer to missing rows, because somebody has deleted by hand and the database did not refuse. SQLite checks
references only for connections that ask for it, and the `sqlite3` shell does not."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, ForeignKeyConstraint, Table, and_, exists, select, text
from sqlalchemy.exc import SQLAlchemyError

from controller.core.unavailable import Unavailable
from controller.db.engine import Database
from controller.db.schema import head, metadata, step

_TOLD = 20  # most rows in one message


class NotMended(Exception):  # noqa: N818 - it says what is
    """Nothing was changed; the message is one sentence for the operator."""


@dataclass(frozen=True)
class Dangling:
    """A row of `table` with this key, whose columns name a row of `parent` that does not exist."""

    table: str
    key: Mapping[str, Any]
    names: Mapping[str, Any]
    parent: str
    row: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.table} {_said(self.key)}: there is no row of {self.parent} for its {_said(self.names)}"


async def mend(url: str, away: Path | None) -> str:
    """Find the rows of the database at a URL that refer to missing rows. If `away` is given, write them to that file
    and delete them. Returns the result as text. Raises NotMended."""
    database = Database(url)
    try:
        async with database.write() as session:
            connection = await session.connection()
            if (at := await connection.run_sync(step)) != head():
                raise NotMended(f"the database is at step {at}, this release at {head()}: start its controller first")
            return await connection.run_sync(_mend, away)
    except (Unavailable, SQLAlchemyError) as error:
        raise NotMended(f"the database: {error}") from error
    finally:
        await database.close()


def dangling(connection: Connection) -> Iterator[Dangling]:
    """Yield all such rows, those of referenced tables first."""
    for table in metadata.sorted_tables:
        for constraint in sorted(table.foreign_key_constraints, key=lambda one: list(one.column_keys)):
            yield from _of(connection, table, constraint)


def _of(connection: Connection, table: Table, constraint: ForeignKeyConstraint) -> Iterator[Dangling]:
    parent = constraint.referred_table.alias("parent")
    pairs = [(table.c[one.parent.name], parent.c[one.column.name]) for one in constraint.elements]
    named = and_(*(child.is_not(None) for child, _ in pairs))
    there = exists(select(1).select_from(parent).where(and_(*(child == of for child, of in pairs))).correlate(table))
    for row in connection.execute(select(table).where(named, ~there)).mappings():
        key = {column.name: row[column.name] for column in _key(table)}
        names = {child.name: row[child.name] for child, _ in pairs}
        yield Dangling(table.name, key, names, constraint.referred_table.name, dict(row))


def _mend(connection: Connection, away: Path | None) -> str:
    found = list(dangling(connection))
    if not found:
        return "no row refers to a row that does not exist"
    if away is None:
        rest = f"\n  and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        some = "".join(f"\n  {one}" for one in found[:_TOLD])
        raise NotMended(f"{len(found)} rows refer to rows that do not exist:{some}{rest}\n--delete FILE takes them out")
    if connection.dialect.name == "sqlite":
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))
    gone: dict[tuple[str, str], Dangling] = {}
    while found:  # rows that referred to these are next
        gone |= {(one.table, str(one.key)): one for one in found}
        for one in found:
            table = metadata.tables[one.table]
            connection.execute(table.delete().where(*(table.c[name] == value for name, value in one.key.items())))
        found = list(dangling(connection))
    rows = [{"table": one.table, "why": str(one), "row": dict(one.row)} for one in gone.values()]
    try:
        with away.open("x", encoding="utf-8") as file:
            json.dump(rows, file, default=str, indent=1)
    except OSError as error:
        raise NotMended(f"{away}: {error.strerror}; nothing was deleted") from error
    return f"{len(gone)} rows that referred to rows that do not exist are in {away}, and deleted"


def _key(table: Table) -> list[Column[Any]]:
    return list(table.primary_key.columns)


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in values.items())
