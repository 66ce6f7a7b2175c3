"""Policies that were applied, the latest of which is in force."""

from datetime import datetime

from sqlalchemy import String, Text, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import Base, Time, now


class PolicyRow(Base):
    """One row per applied policy, with the generation it led to."""

    __tablename__ = "policies"

    id: Mapped[int] = mapped_column(primary_key=True)
    filename: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    generation: Mapped[int]
    applied_at: Mapped[datetime] = mapped_column(Time, default=now)


async def latest(session: AsyncSession) -> PolicyRow | None:
    """The policy in force."""
    row: PolicyRow | None = await session.scalar(select(PolicyRow).order_by(PolicyRow.id.desc()).limit(1))
    return row


def add(session: AsyncSession, filename: str, text: str, generation: int) -> None:
    """Records a policy with the change it makes."""
    session.add(PolicyRow(filename=filename, text=text, generation=generation))


async def withdraw(session: AsyncSession, generation: int) -> None:
    """Forgets what was applied with a change that is rolled back: the policy before it is in force again."""
    await session.execute(delete(PolicyRow).where(PolicyRow.generation == generation))
