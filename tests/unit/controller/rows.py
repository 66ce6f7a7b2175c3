"""Rows for any table, made from the schema of the database itself, whatever the models are."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, MetaData, Table, inspect, null
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import JSON, Boolean, Date, DateTime, Float, Integer, LargeBinary

Rows = dict[str, list[dict[str, Any]]]
"""Rows by table, in no particular order."""

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def tables(connection: Connection) -> list[Table]:
    """Return all tables except Alembic's own; a table comes after the tables that it refers to."""
    metadata = MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name != "alembic_version"]


def add(connection: Connection, number: int) -> None:
    """Add a row to every table; every other number has NULL where that is permitted."""
    for table in tables(connection):
        literals = _literals(connection, table.name)
        row = {column.name: _value(column, number, literals.get(column.name, [])) for column in table.columns}
        for part, whole, size in _quotients(connection, table.name):
            row[whole] = row[part] * size
        bare = {name: null() if table.columns[name].nullable else value for name, value in row.items()}
        try:
            with connection.begin_nested():
                connection.execute(table.insert().values(bare if number % 2 else row))
        except IntegrityError:
            if not number % 2:
                raise
            connection.execute(table.insert().values(row))  # a constraint requires one of the values


def read(connection: Connection) -> Rows:
    """Return all rows of all tables."""
    return {t.name: [dict(row._mapping) for row in connection.execute(t.select())] for t in tables(connection)}


def common(one: Rows, other: Rows) -> tuple[Rows, Rows]:
    """Return both with only the tables and columns that they share, sorted. A table with rows on one side only keeps
    all of its columns."""
    shared = {name: _columns(one[name], other[name]) for name in one.keys() & other.keys()}
    return _only(one, shared), _only(other, shared)


def lost(before: Rows, after: Rows) -> set[str]:
    """Return the tables and columns (`table.column`) that are missing afterwards."""
    gone = before.keys() - after.keys()
    both = [name for name in before if before[name] and after.get(name)]
    return gone | {f"{name}.{column}" for name in both for column in before[name][0].keys() - after[name][0].keys()}


def _columns(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> set[str]:
    """Return the shared columns, as far as there are rows that show them."""
    there = [set(rows[0]) for rows in (one, other) if rows]
    return set.intersection(*there) if there else set()


def _only(rows: Rows, columns: Mapping[str, Iterable[str]]) -> Rows:
    chosen = {name: [{c: row[c] for c in sorted(columns[name])} for row in rows[name]] for name in columns}
    return {name: sorted(found, key=repr) for name, found in chosen.items()}


def _literals(connection: Connection, table: str) -> dict[str, list[Any]]:
    """Return the words and numbers in constraints, by column."""
    found: dict[str, list[Any]] = {}
    for check in inspect(connection).get_check_constraints(table):
        text = str(check["sqltext"])
        words = re.findall(r"'([^']+)'", text)
        numbers = [int(n) for n in re.findall(r"\b\d+\b", text)] if re.search(r"\bIN\b|\bANY\b", text) else []
        if words or numbers:
            found[re.findall(r"\w+", text)[0]] = words or numbers
    return found


def _quotients(connection: Connection, table: str) -> list[tuple[str, str, int]]:
    """Return the constraints of the form `part = whole / size`."""
    checks = (str(check["sqltext"]) for check in inspect(connection).get_check_constraints(table))
    found = (re.fullmatch(r"(\w+) = \(?(\w+) / (\d+)\)?", check) for check in checks)
    return [(one[1], one[2], int(one[3])) for one in found if one]


def _value(column: Any, number: int, allowed: list[Any]) -> Any:
    """Return a value for a column; a reference to another table names the row of the same number."""
    if column.foreign_keys:
        return _value(next(iter(column.foreign_keys)).column, number, [])
    if allowed:
        return allowed[number // 2 % len(allowed)]
    match column.type:
        case Boolean():
            return bool(number & 2)
        case Integer():
            return number + 1
        case Float():
            return float(number)
        case DateTime():
            at = DAY + timedelta(seconds=number)
            return at if column.type.timezone else at.replace(tzinfo=None)
        case Date():
            return date(2026, 1, 1) + timedelta(days=number)
        case LargeBinary():
            return b"\x00\xff" * number
        case JSON():
            return [number, "ä"]
    return f"{number}-{column.name}"[: column.type.length]
