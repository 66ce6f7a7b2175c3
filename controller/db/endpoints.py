"""Endpoints."""

from datetime import datetime

from sqlalchemy import JSON, CheckConstraint, ForeignKey, String, UniqueConstraint, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import NAME, Base, Time, now


class EndpointRow(Base):
    """One row per endpoint; never changed, only made and removed."""

    __tablename__ = "endpoints"
    __table_args__ = (
        UniqueConstraint("cloudlet", "index"),
        UniqueConstraint("cloudlet", "vni"),
        CheckConstraint("site BETWEEN 1 AND 4095", name="site"),
        CheckConstraint('"index" BETWEEN 1 AND 255', name="index"),
        CheckConstraint("vni BETWEEN 1 AND 16777215", name="vni"),
        CheckConstraint("max_routes >= 1", name="max_routes"),
    )

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    cloudlet: Mapped[str] = mapped_column(NAME, ForeignKey("cloudlets.name"))
    site: Mapped[int] = mapped_column(unique=True)
    index: Mapped[int]
    prefix: Mapped[str] = mapped_column(String(49))
    gateway: Mapped[str] = mapped_column(String(45))
    ports: Mapped[list[str]] = mapped_column(JSON, default=list)
    vni: Mapped[int | None]
    mtu: Mapped[int]
    lease_seconds: Mapped[int]
    max_routes: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(Time, default=now)
    revision: Mapped[int] = mapped_column(default=1)


async def get(session: AsyncSession, name: str) -> EndpointRow | None:
    """The endpoint of that name."""
    return await session.get(EndpointRow, name, populate_existing=True)


async def page(session: AsyncSession, after: str, limit: int, cloudlet: str | None = None) -> list[EndpointRow]:
    """Up to `limit` endpoints, of one cloudlet or of all, whose names sort after `after`."""
    query = select(EndpointRow).where(EndpointRow.name > after).order_by(EndpointRow.name).limit(limit)
    if cloudlet is not None:
        query = query.where(EndpointRow.cloudlet == cloudlet)
    return list(await session.scalars(query))
