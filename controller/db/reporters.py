"""Reporters: cloudlets whose agents report on neighbours, and how much of their reports the database has."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from sqlalchemy import BigInteger, String, bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.neighbour_reports import Reporter
from controller.db.base import NAME, Base, Time


class ReporterRow(Base):
    """Of the agent's `run`, all rounds up to `number` are known. `dropped` is the number of rounds that it gave up in
    all its runs, `dropped_now` in this one. The history is rolled up until `rolled_until`."""

    __tablename__ = "reporters"

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    run: Mapped[str] = mapped_column(String(32))
    number: Mapped[int] = mapped_column(BigInteger)
    dropped: Mapped[int] = mapped_column(BigInteger, default=0)
    dropped_now: Mapped[int] = mapped_column(BigInteger, default=0)
    heard_at: Mapped[datetime] = mapped_column(Time)
    rolled_until: Mapped[datetime] = mapped_column(Time, index=True)


async def locked(session: AsyncSession, cloudlets: Collection[str]) -> dict[str, Reporter]:
    """Return the rows of these cloudlets. No other transaction changes them before this one ends."""
    query = select(ReporterRow).where(ReporterRow.cloudlet.in_(cloudlets)).order_by(ReporterRow.cloudlet)
    return {row.cloudlet: _reporter(row) for row in await session.scalars(query.with_for_update())}


async def get(session: AsyncSession, cloudlet: str) -> Reporter | None:
    """Return the row of one cloudlet."""
    row = await session.get(ReporterRow, cloudlet, populate_existing=True)
    return _reporter(row) if row else None


async def save(session: AsyncSession, before: Collection[str], after: Mapping[str, Reporter]) -> None:
    """Write reporters; `before` are those that have a row already."""
    added = [{"cloudlet": name, **vars(r)} for name, r in after.items() if name not in before]
    changed = [{"of": name, **vars(r)} for name, r in after.items() if name in before]
    connection = await session.connection()
    if added:
        await connection.execute(insert(ReporterRow.__table__), added)  # type: ignore[arg-type]
    if changed:
        await connection.execute(_change, changed)


async def due(session: AsyncSession, until: datetime, limit: int) -> list[str]:
    """Return the reporters whose history has to be rolled up to `until`, the most overdue first."""
    query = select(ReporterRow.cloudlet).where(ReporterRow.rolled_until < until)
    return list(await session.scalars(query.order_by(ReporterRow.rolled_until, ReporterRow.cloudlet).limit(limit)))


async def rolled(session: AsyncSession, cloudlet: str, until: datetime) -> None:
    """Record how far the history is rolled up."""
    await session.execute(update(ReporterRow).where(ReporterRow.cloudlet == cloudlet).values(rolled_until=until))


async def names(session: AsyncSession) -> set[str]:
    """Return all cloudlets that ever reported."""
    return set(await session.scalars(select(ReporterRow.cloudlet)))


async def forget(session: AsyncSession, cloudlets: Iterable[str]) -> None:
    """Remove the rows of cloudlets that are gone."""
    await session.execute(delete(ReporterRow).where(ReporterRow.cloudlet.in_(list(cloudlets))))


VALUES = tuple(Reporter.__dataclass_fields__)
_change = (
    update(ReporterRow.__table__)  # type: ignore[arg-type]
    .where(ReporterRow.cloudlet == bindparam("of"))
    .values({name: bindparam(name) for name in VALUES})
)


def _reporter(row: ReporterRow) -> Reporter:
    return Reporter(*(getattr(row, name) for name in VALUES))
