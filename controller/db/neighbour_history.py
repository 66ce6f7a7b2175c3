"""The history of neighbours: single rounds for a day, then one row per hour, then one row per day.

Rows that are written and deleted together have the same beginning of the key: one cloudlet's rows of one span, in the
order of time."""

from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import CheckConstraint, ColumnElement, String, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.neighbour_history import Summary
from controller.db.base import NAME, Base, Time


class NeighbourHistoryRow(Base):
    """`rounds` rounds that ended at `at`, or in the hour or day (`span` seconds; 0: one report's) that begins at
    `at`."""

    __tablename__ = "neighbour_history"
    __table_args__ = (CheckConstraint("span IN (0, 3600, 86400)", name="span"), {"sqlite_with_rowid": False})

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    span: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Time, primary_key=True)
    neighbour: Mapped[str] = mapped_column(NAME, primary_key=True)
    rounds: Mapped[int]
    method: Mapped[str] = mapped_column(String(4))
    sent: Mapped[int]
    received: Mapped[int]
    min_ms: Mapped[float | None]
    median_ms: Mapped[float | None]
    p95_ms: Mapped[float | None]
    jitter_ms: Mapped[float | None]


VALUES = tuple(Summary.__dataclass_fields__)
_columns = [getattr(NeighbourHistoryRow, name) for name in VALUES]


async def add(session: AsyncSession, span: int, rows: Mapping[tuple[str, str, datetime], Summary]) -> None:
    """Add rows by cloudlet, neighbour and time (or the hour or day that begins then)."""
    if rows:
        values = [
            {"cloudlet": of, "neighbour": to, "at": at, "span": span, **vars(summary)}
            for (of, to, at), summary in rows.items()
        ]
        await (await session.connection()).execute(insert(NeighbourHistoryRow.__table__), values)  # type: ignore[arg-type]


async def measured(session: AsyncSession, cloudlet: str, span: int, since: datetime, until: datetime) -> list[str]:
    """Return the neighbours that a cloudlet measured in a time."""
    query = select(NeighbourHistoryRow.neighbour).where(*_between(cloudlet, span, since, until)).distinct()
    return sorted(await session.scalars(query))


async def between(
    session: AsyncSession, cloudlet: str, neighbours: Collection[str], span: int, since: datetime, until: datetime
) -> list[tuple[str, datetime, Summary]]:
    """Return a cloudlet's measurements of these neighbours in a time: neighbour, moment, summary."""
    query = select(NeighbourHistoryRow.neighbour, NeighbourHistoryRow.at, *_columns)
    query = query.where(*_between(cloudlet, span, since, until), NeighbourHistoryRow.neighbour.in_(neighbours))
    return [(row[0], row[1], Summary(*row[2:])) for row in await session.execute(query)]


async def page(
    session: AsyncSession, cloudlet: str, neighbour: str, span: int, since: datetime, after: datetime, limit: int
) -> list[NeighbourHistoryRow]:
    """Return up to `limit` rows of one pair after `after`, in the order of time."""
    row = NeighbourHistoryRow
    query = select(row).where(
        row.cloudlet == cloudlet, row.span == span, row.at >= since, row.at > after, row.neighbour == neighbour
    )
    return list(await session.scalars(query.order_by(row.at).limit(limit)))


async def clear(session: AsyncSession, cloudlet: str, span: int, since: datetime, until: datetime) -> None:
    """Remove a cloudlet's rows of a time."""
    await session.execute(delete(NeighbourHistoryRow).where(*_between(cloudlet, span, since, until)))


async def forget(session: AsyncSession, cloudlet: str, span: int, before: datetime) -> None:
    """Remove a cloudlet's rows that are older."""
    row = NeighbourHistoryRow
    await session.execute(delete(row).where(row.cloudlet == cloudlet, row.span == span, row.at < before))


async def forget_all(session: AsyncSession, cloudlet: str) -> None:
    """Remove all measurements of a cloudlet."""
    await session.execute(delete(NeighbourHistoryRow).where(NeighbourHistoryRow.cloudlet == cloudlet))


def _between(cloudlet: str, span: int, since: datetime, until: datetime) -> tuple[ColumnElement[bool], ...]:
    row = NeighbourHistoryRow
    return row.cloudlet == cloudlet, row.span == span, row.at >= since, row.at < until
