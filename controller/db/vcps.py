"""Virtual Cloud Pools."""

from datetime import datetime

from sqlalchemy import CheckConstraint, String, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, Base, Time


class VcpRow(Base):
    """One row per pool. `revision` counts its own changes and those of its membership."""

    __tablename__ = "vcps"
    __table_args__ = (CheckConstraint("flavour IN ('vpls', 'evpn', 'vpnv4', 'vpnv6')", name="flavour"),)

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    flavour: Mapped[str] = mapped_column(String(8))
    description: Mapped[str] = mapped_column(String(200), default="")
    managed_by_policy: Mapped[bool] = mapped_column(default=False)
    family: Mapped[str | None] = mapped_column(NAME)
    created_at: Mapped[datetime] = mapped_column(Time, default=now)
    revision: Mapped[int] = mapped_column(default=1)


async def get(session: AsyncSession, name: str) -> VcpRow | None:
    """Return the pool of that name."""
    return await session.get(VcpRow, name, populate_existing=True)


async def page(session: AsyncSession, after: str, limit: int) -> list[VcpRow]:
    """Return up to `limit` pools whose names sort after `after`."""
    return list(await session.scalars(select(VcpRow).where(VcpRow.name > after).order_by(VcpRow.name).limit(limit)))
