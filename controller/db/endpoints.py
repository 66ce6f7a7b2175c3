"""Endpoints."""

from datetime import datetime

from sqlalchemy import JSON, CheckConstraint, ForeignKey, String, UniqueConstraint, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, Base, Time


class EndpointRow(Base):
    """One row per endpoint. Its name, cloudlet, site number and index never change. `consent_at` is when its tenant's
    consent was given or withdrawn last."""

    __tablename__ = "endpoints"
    __table_args__ = (
        UniqueConstraint("cloudlet", "index"),
        UniqueConstraint("cloudlet", "vni"),
        CheckConstraint("site >= 1", name="site"),
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
    tenant: Mapped[str | None] = mapped_column(NAME)
    prefix6: Mapped[str | None] = mapped_column(String(49))
    gateway6: Mapped[str | None] = mapped_column(String(45))
    consented_by: Mapped[str | None] = mapped_column(String(200))
    consent_at: Mapped[datetime | None] = mapped_column(Time)
    created_at: Mapped[datetime] = mapped_column(Time, default=now)
    revision: Mapped[int] = mapped_column(default=1)


async def get(session: AsyncSession, name: str) -> EndpointRow | None:
    """Return the endpoint of that name."""
    return await session.get(EndpointRow, name, populate_existing=True)


async def lock(session: AsyncSession, *names: str) -> None:
    """Make other transactions that want to give out its addresses wait until this one ends. Several endpoints are
    locked in the order of their names. (SQLite has no such lock, and one writer.)"""
    query = select(EndpointRow.name).where(EndpointRow.name.in_(names)).order_by(EndpointRow.name)
    await session.execute(query.with_for_update(key_share=True))


async def there(session: AsyncSession, names: list[str]) -> list[str]:
    """Return those of the endpoints that exist, sorted; none of them is removed before the transaction ends."""
    query = select(EndpointRow.name).where(EndpointRow.name.in_(names)).order_by(EndpointRow.name)
    return list(await session.scalars(query.with_for_update(key_share=True, read=True)))


async def page(
    session: AsyncSession, after: str, limit: int, cloudlet: str | None = None, tenant: str | None = None
) -> list[EndpointRow]:
    """Return up to `limit` endpoints, of one cloudlet or tenant or of all, whose names sort after `after`."""
    query = select(EndpointRow).where(EndpointRow.name > after).order_by(EndpointRow.name).limit(limit)
    if cloudlet is not None:
        query = query.where(EndpointRow.cloudlet == cloudlet)
    if tenant is not None:
        query = query.where(EndpointRow.tenant == tenant)
    return list(await session.scalars(query))
