"""The load of each cloudlet's host, from the last report of its agent."""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import BigInteger, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, Base, Time
from controller.wire.host_loads import HostLoad

STALE = timedelta(minutes=3)
"""The age at which a load says nothing any more."""

_OFTEN = timedelta(seconds=10)


class HostLoadRow(Base):
    """A wire HostLoad; bytes."""

    __tablename__ = "host_loads"

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    processors: Mapped[int]
    busy: Mapped[float]
    memory_free: Mapped[int] = mapped_column(BigInteger)
    at: Mapped[datetime] = mapped_column(Time)


async def tell(session: AsyncSession, cloudlet: str, load: HostLoad) -> None:
    """Store a cloudlet's load, unless one was stored a moment ago."""
    row, at = await session.get(HostLoadRow, cloudlet), now()
    if row is None:
        row = HostLoadRow(cloudlet=cloudlet)
        session.add(row)
    elif at - row.at < _OFTEN:
        return
    row.processors, row.busy, row.memory_free, row.at = load.processors, load.busy, load.memory_free, at


async def of(session: AsyncSession, cloudlets: Collection[str]) -> dict[str, HostLoad]:
    """Return the loads of these cloudlets that are known, and not stale."""
    query = select(HostLoadRow).where(HostLoadRow.cloudlet.in_(cloudlets), HostLoadRow.at > now() - STALE)
    rows = await session.scalars(query)
    return {
        row.cloudlet: HostLoad(processors=row.processors, busy=row.busy, memory_free=row.memory_free) for row in rows
    }


async def forget(session: AsyncSession, gone: Collection[str]) -> None:
    """Remove the loads of cloudlets that are gone."""
    await session.execute(delete(HostLoadRow).where(HostLoadRow.cloudlet.in_(gone)))
