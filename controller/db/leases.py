"""Leases: who holds which address until when. Unique by constraint: an address of an endpoint is leased once, and each
half of a pair is."""

from datetime import datetime
from typing import Literal

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Integer, String, UniqueConstraint, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import NAME, Base, Time


class LeaseRow(Base):
    """One row per address held. A row whose time is over counts for nothing; the sweeper removes it."""

    __tablename__ = "leases"
    __table_args__ = (
        UniqueConstraint("endpoint", "address"),
        UniqueConstraint("pair", "kind"),
        CheckConstraint("kind IN ('md', 'vm')", name="kind"),
        Index("ix_leases_expires_at", "expires_at"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
    pair: Mapped[int] = mapped_column(BigInteger, ForeignKey("pairs.id"))
    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name"))
    device: Mapped[str] = mapped_column(NAME, ForeignKey("devices.name"), index=True)
    kind: Mapped[Literal["md", "vm"]] = mapped_column(String(2))
    address: Mapped[str] = mapped_column(String(45))
    mac: Mapped[str | None] = mapped_column(String(17))
    client_id: Mapped[str | None] = mapped_column(String(510))
    hostname: Mapped[str | None] = mapped_column(String(255))
    granted_at: Mapped[datetime] = mapped_column(Time)
    expires_at: Mapped[datetime] = mapped_column(Time)
    revision: Mapped[int] = mapped_column(default=1)


async def get(session: AsyncSession, number: int, at: datetime) -> LeaseRow | None:
    """The lease of that id, if it has not expired."""
    row = await session.get(LeaseRow, number, populate_existing=True)
    return row if row is not None and row.expires_at > at else None


async def of(session: AsyncSession, pair: int, kind: str) -> LeaseRow | None:
    """The lease on one half of a pair, expired or not."""
    row: LeaseRow | None = await session.scalar(select(LeaseRow).where(LeaseRow.pair == pair, LeaseRow.kind == kind))
    return row


async def at_address(session: AsyncSession, endpoint: str, address: str) -> LeaseRow | None:
    """The lease on an address, expired or not."""
    query = select(LeaseRow).where(LeaseRow.endpoint == endpoint, LeaseRow.address == address)
    row: LeaseRow | None = await session.scalar(query)
    return row


async def page(
    session: AsyncSession, after: int, limit: int, at: datetime, endpoint: str | None, device: str | None
) -> list[LeaseRow]:
    """Up to `limit` leases that have not expired, by id."""
    query = select(LeaseRow).where(LeaseRow.id > after, LeaseRow.expires_at > at).order_by(LeaseRow.id).limit(limit)
    if endpoint is not None:
        query = query.where(LeaseRow.endpoint == endpoint)
    if device is not None:
        query = query.where(LeaseRow.device == device)
    return list(await session.scalars(query))


async def expired(session: AsyncSession, at: datetime, limit: int = 500) -> list[LeaseRow]:
    """Leases whose time is over."""
    query = select(LeaseRow).where(LeaseRow.expires_at <= at).order_by(LeaseRow.expires_at).limit(limit)
    return list(await session.scalars(query))


async def remove(session: AsyncSession, lease: LeaseRow) -> None:
    """Gives the address back."""
    await session.execute(delete(LeaseRow).where(LeaseRow.id == lease.id))
