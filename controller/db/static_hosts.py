"""Static hosts: addresses that were in use before there was an address plan, and are never leased."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String, UniqueConstraint, delete, distinct, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.static_hosts import Static
from controller.db.base import NAME, Base, Time
from controller.db.pairs import PairRow


class StaticHostRow(Base):
    """One row per host. Its pair is a row in `pairs` without a device, so that no device can get it. `until`: a client
    found this address in use, and it is free again at that time; None: the host was taken over, for good."""

    __tablename__ = "statics"
    __table_args__ = (UniqueConstraint("endpoint", "name"), Index("ix_statics_pair", "pair"))

    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name"), primary_key=True)
    address: Mapped[str] = mapped_column(String(45), primary_key=True)
    name: Mapped[str] = mapped_column(NAME)
    mac: Mapped[str | None] = mapped_column(String(17))
    pair: Mapped[int] = mapped_column(BigInteger, ForeignKey("pairs.id"))
    added_at: Mapped[datetime] = mapped_column(Time, default=now)
    until: Mapped[datetime | None] = mapped_column(Time)


async def of(session: AsyncSession, endpoint: str) -> dict[str, Static]:
    """Return the hosts of a LAN by address."""
    rows = await session.scalars(select(StaticHostRow).where(StaticHostRow.endpoint == endpoint))
    return {row.address: Static(row.name, row.address, row.mac) for row in rows}


async def at_lans(session: AsyncSession, endpoints: Collection[str]) -> list[tuple[str, str, str]]:
    """Return endpoint, name and address of the hosts of these LANs that were taken over."""
    there = StaticHostRow.endpoint.in_(endpoints), StaticHostRow.until.is_(None)
    query = select(StaticHostRow.endpoint, StaticHostRow.name, StaticHostRow.address).where(*there)
    return [(endpoint, name, address) for endpoint, name, address in await session.execute(query)]


async def numbers(session: AsyncSession, endpoint: str) -> set[int]:
    """Return the numbers of a LAN's pairs that have hosts."""
    query = (
        select(PairRow.number)
        .join(StaticHostRow, StaticHostRow.pair == PairRow.id)
        .where(StaticHostRow.endpoint == endpoint)
    )
    return set(await session.scalars(query))


async def counts(session: AsyncSession, endpoints: Collection[str]) -> dict[str, int]:
    """Return how many pairs static hosts have, by endpoint."""
    query = select(StaticHostRow.endpoint, func.count(distinct(StaticHostRow.pair))).where(
        StaticHostRow.endpoint.in_(endpoints)
    )
    return {row[0]: row[1] for row in await session.execute(query.group_by(StaticHostRow.endpoint))}


async def page(session: AsyncSession, endpoint: str, after: str, limit: int) -> list[StaticHostRow]:
    """Return up to `limit` hosts of a LAN whose names sort after `after`."""
    query = select(StaticHostRow).where(StaticHostRow.endpoint == endpoint, StaticHostRow.name > after)
    return list(await session.scalars(query.order_by(StaticHostRow.name).limit(limit)))


async def get(session: AsyncSession, endpoint: str, name: str) -> StaticHostRow | None:
    """Return the host of that name on a LAN."""
    row: StaticHostRow | None = await session.scalar(
        select(StaticHostRow).where(StaticHostRow.endpoint == endpoint, StaticHostRow.name == name)
    )
    return row


async def add(
    session: AsyncSession, endpoint: str, hosts: Collection[tuple[Static, int]], until: datetime | None = None
) -> None:
    """Add hosts, each with the id of its pair."""
    rows = [
        {
            "endpoint": endpoint,
            "address": h.address,
            "name": h.name,
            "mac": h.mac,
            "pair": pair,
            "added_at": now(),
            "until": until,
        }
        for h, pair in hosts
    ]
    if rows:
        await session.execute(insert(StaticHostRow), rows)


async def remove(session: AsyncSession, row: StaticHostRow) -> bool:
    """Remove a host; return whether it was the last of its pair."""
    await session.execute(
        delete(StaticHostRow).where(StaticHostRow.endpoint == row.endpoint, StaticHostRow.address == row.address)
    )
    return not await session.scalar(select(func.count()).where(StaticHostRow.pair == row.pair))


async def at_address(session: AsyncSession, endpoint: str, address: str) -> StaticHostRow | None:
    """Return the host at an address."""
    return await session.get(StaticHostRow, (endpoint, address))


async def name_declined(session: AsyncSession, endpoint: str, addresses: Collection[str]) -> None:
    """Remove the notes that clients found these addresses in use, because their users are known now. Their pairs stay
    without a device."""
    there = StaticHostRow.endpoint == endpoint, StaticHostRow.address.in_(addresses), StaticHostRow.until.is_not(None)
    await session.execute(delete(StaticHostRow).where(*there))


async def forget_declined(session: AsyncSession, endpoint: str) -> None:
    """Remove all notes of a LAN that clients found addresses in use. Their pairs stay without a device."""
    await session.execute(
        delete(StaticHostRow).where(StaticHostRow.endpoint == endpoint, StaticHostRow.until.is_not(None))
    )


async def over(session: AsyncSession, at: datetime) -> list[StaticHostRow]:
    """Return the hosts whose time is over."""
    return list(await session.scalars(select(StaticHostRow).where(StaticHostRow.until <= at)))
