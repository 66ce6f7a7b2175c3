"""Initiations: the time that VMs which started anew took until their service answered, part of the profiles (Teka,
section V)."""

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.profiles import ENOUGH
from controller.db.base import NAME, NUMBER, Base, Time

KEPT = 50_000
"""How many of the latest initiations are kept."""


class InitiationRow(Base):
    """The VM `vm` started anew at `cloudlet`, and its service answered after `seconds`."""

    __tablename__ = "initiations"

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    move: Mapped[str] = mapped_column(NAME, unique=True)
    vm: Mapped[str] = mapped_column(NAME)
    image: Mapped[str] = mapped_column(NAME, index=True)
    driver: Mapped[str] = mapped_column(NAME)
    cloudlet: Mapped[str] = mapped_column(NAME)
    seconds: Mapped[float]
    at: Mapped[datetime] = mapped_column(Time, default=now)


async def took(session: AsyncSession, image: str, driver: str) -> list[float]:
    """Return the seconds that the latest initiations of VMs of this image took, up to ENOUGH; the latest first."""
    query = select(InitiationRow.seconds).where(InitiationRow.image == image, InitiationRow.driver == driver)
    return list(await session.scalars(query.order_by(InitiationRow.id.desc()).limit(ENOUGH)))


async def prune(session: AsyncSession) -> None:
    """Delete initiations older than the latest KEPT."""
    latest = await session.scalar(select(func.max(InitiationRow.id))) or 0
    await session.execute(delete(InitiationRow).where(InitiationRow.id <= latest - KEPT))
