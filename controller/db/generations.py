"""Generations of the rule set: one row per change, so that a number is never given twice."""

from datetime import datetime

from sqlalchemy import String, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import Base, Time, now

KEPT = 10_000
"""How many of the latest rows are kept."""


class GenerationRow(Base):
    """`cause` says what was done, for people. `fabric` is the AS number and the route servers desired states were made
    with: a controller started with others makes a new generation."""

    __tablename__ = "generations"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Time, default=now)
    cause: Mapped[str] = mapped_column(String(400))
    fabric: Mapped[str] = mapped_column(String(64))


async def current(session: AsyncSession) -> GenerationRow | None:
    """The latest generation; None before the first."""
    row: GenerationRow | None = await session.scalar(
        select(GenerationRow).order_by(GenerationRow.number.desc()).limit(1)
    )
    return row


async def number(session: AsyncSession) -> int:
    """The latest generation's number; 0 before the first."""
    return await session.scalar(select(func.max(GenerationRow.number))) or 0


async def prune(session: AsyncSession) -> None:
    """Forgets generations older than the latest KEPT."""
    await session.execute(delete(GenerationRow).where(GenerationRow.number <= await number(session) - KEPT))
