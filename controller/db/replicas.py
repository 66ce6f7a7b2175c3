"""The controllers that serve this database, each as it reports itself. Times are those of the database's clock, the
only one that all of them have."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import String, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import NAME, Base, Time

ALIVE = timedelta(seconds=4)
"""A replica that was not heard of for longer counts as gone."""

KEPT = timedelta(hours=1)


class ReplicaRow(Base):
    """`instance` is one run of the process; a replica that is started again has another."""

    __tablename__ = "replicas"

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    instance: Mapped[str] = mapped_column(String(32))
    release: Mapped[str] = mapped_column(String(40))
    started_at: Mapped[datetime] = mapped_column(Time)
    seen_at: Mapped[datetime] = mapped_column(Time)
    leading: Mapped[bool] = mapped_column(default=False)


@dataclass(frozen=True)
class Replica:
    """One replica, as it is now."""

    name: str
    instance: str
    release: str
    started_at: datetime
    seen_at: datetime
    leading: bool
    alive: bool


async def beat(session: AsyncSession, name: str, instance: str, release: str, leading: bool) -> None:
    """Record that this replica is alive."""
    known = await session.get(ReplicaRow, name, populate_existing=True)
    moment: datetime = (await session.execute(select(func.now()))).scalar_one()
    if known is None or known.instance != instance:
        row = ReplicaRow(
            name=name, instance=instance, release=release[:40], started_at=moment, seen_at=moment, leading=leading
        )
        await session.merge(row)
    else:
        known.seen_at, known.leading = moment, leading
    if leading:
        others = update(ReplicaRow).where(ReplicaRow.name != name, ReplicaRow.leading)
        await session.execute(others.values(leading=False))
        await session.execute(delete(ReplicaRow).where(ReplicaRow.seen_at < moment - KEPT))


async def leave(session: AsyncSession, name: str, instance: str) -> None:
    """Remove this replica, which ends."""
    await session.execute(delete(ReplicaRow).where(ReplicaRow.name == name, ReplicaRow.instance == instance))


async def all_of_them(session: AsyncSession) -> list[Replica]:
    """Return all replicas by name."""
    rows = await session.execute(select(ReplicaRow, func.now()).order_by(ReplicaRow.name))
    return [
        Replica(
            row.name, row.instance, row.release, row.started_at, row.seen_at, row.leading, row.seen_at > moment - ALIVE
        )
        for row, moment in rows
    ]
