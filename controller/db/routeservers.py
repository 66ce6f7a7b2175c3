"""The last event of each route server that has been taken over."""

from sqlalchemy import BigInteger, String
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import NAME, Base


class RouteServerRow(Base):
    """`event` is the number of the last event taken over from the run that began at `started_at`."""

    __tablename__ = "route_servers"

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    started_at: Mapped[str] = mapped_column(String(64))
    event: Mapped[int] = mapped_column(BigInteger)


async def last_event(session: AsyncSession, name: str, started_at: str) -> int:
    """Return the number of the last event taken over from that run; 0 if there is none."""
    row = await session.get(RouteServerRow, name, populate_existing=True)
    return row.event if row is not None and row.started_at == started_at else 0


async def note_event(session: AsyncSession, name: str, started_at: str, number: int) -> None:
    """Record that an event was taken over."""
    await session.merge(RouteServerRow(name=name, started_at=started_at, event=number))
