"""The base of all tables: names of constraints that migrations can rely on, and types of columns."""

from datetime import UTC, datetime

from sqlalchemy import BigInteger, DateTime, Integer, MetaData, String
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

NAME = String(63).with_variant(String(63, collation="C"), "postgresql")
"""Sorted by bytes, as SQLite does, whatever the language of the database: lists are in the same order everywhere, and
their pages are read from the key's index."""

NUMBER = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits. In SQLite every integer has them, and only a column of type INTEGER can be a key that counts by itself."""


class Base(DeclarativeBase):
    """Names are natural keys: they are unique, never change, and make rows readable without joins."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Time(TypeDecorator[datetime]):
    """A moment, always in UTC. SQLite keeps no zone, so reading adds UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)
