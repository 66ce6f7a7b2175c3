"""Events: what happened, in order."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Integer, String, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import Base, Time, now

KEPT = 100_000
"""How many of the latest events are kept."""


class EventRow(Base):
    """`id` grows and is never given twice: readers resume by it."""

    __tablename__ = "events"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
    at: Mapped[datetime] = mapped_column(Time, default=now)
    type: Mapped[str] = mapped_column(String(40))
    subject: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(String(1000))
    data: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)


async def add(session: AsyncSession, type: str, subject: str, text: str, /, **data: Any) -> None:
    """Records an event with the transaction it belongs to."""
    await session.execute(
        insert(EventRow).values(type=type[:40], subject=subject[:200], text=text[:1000], data=data, at=now())
    )


async def after(session: AsyncSession, number: int, limit: int) -> list[EventRow]:
    """Up to `limit` events after the one with that id."""
    return list(await session.scalars(select(EventRow).where(EventRow.id > number).order_by(EventRow.id).limit(limit)))


async def latest(session: AsyncSession) -> int:
    """The id of the latest event; 0 if there is none."""
    return await session.scalar(select(func.max(EventRow.id))) or 0


async def prune(session: AsyncSession) -> None:
    """Forgets events older than the latest KEPT."""
    await session.execute(delete(EventRow).where(EventRow.id <= await latest(session) - KEPT))
