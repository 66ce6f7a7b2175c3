"""Static hosts: addresses that were in use before there was an address plan, and are never given out."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String, UniqueConstraint, delete, distinct, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.static_hosts import Static
from controller.db.base import NAME, Base, Time
from controller.db.pairs import PairRow


class StaticRow(Base):
    """One row per host. Its pair is a row in `pairs` that has no device: nobody else can get it. `until`: a client
    found that somebody uses this address, which is nobody's again then; None: the host was taken over, for good."""

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
    """The hosts of a LAN by address."""
    rows = await session.scalars(select(StaticRow).where(StaticRow.endpoint == endpoint))
    return {row.address: Static(row.name, row.address, row.mac) for row in rows}


async def at_lans(session: AsyncSession, endpoints: Collection[str]) -> list[tuple[str, str, str]]:
    """Endpoint, name and address of the hosts of these LANs that were taken over."""
    there = StaticRow.endpoint.in_(endpoints), StaticRow.until.is_(None)
    query = select(StaticRow.endpoint, StaticRow.name, StaticRow.address).where(*there)
    return [(endpoint, name, address) for endpoint, name, address in await session.execute(query)]


async def numbers(session: AsyncSession, endpoint: str) -> set[int]:
    """The pairs of a LAN in which hosts are."""
    query = select(PairRow.number).join(StaticRow, StaticRow.pair == PairRow.id).where(StaticRow.endpoint == endpoint)
    return set(await session.scalars(query))


async def counts(session: AsyncSession, endpoints: Collection[str]) -> dict[str, int]:
    """How many pairs static hosts have, by endpoint."""
    query = select(StaticRow.endpoint, func.count(distinct(StaticRow.pair))).where(StaticRow.endpoint.in_(endpoints))
    return {row[0]: row[1] for row in await session.execute(query.group_by(StaticRow.endpoint))}


async def page(session: AsyncSession, endpoint: str, after: str, limit: int) -> list[StaticRow]:
    """Up to `limit` hosts of a LAN whose names sort after `after`."""
    query = select(StaticRow).where(StaticRow.endpoint == endpoint, StaticRow.name > after)
    return list(await session.scalars(query.order_by(StaticRow.name).limit(limit)))


async def get(session: AsyncSession, endpoint: str, name: str) -> StaticRow | None:
    """The host of that name on a LAN."""
    row: StaticRow | None = await session.scalar(
        select(StaticRow).where(StaticRow.endpoint == endpoint, StaticRow.name == name)
    )
    return row


async def add(
    session: AsyncSession, endpoint: str, hosts: Collection[tuple[Static, int]], until: datetime | None = None
) -> None:
    """Adds hosts, each with the id of its pair."""
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
        await session.execute(insert(StaticRow), rows)


async def remove(session: AsyncSession, row: StaticRow) -> bool:
    """Removes a host; whether it was the last of its pair."""
    await session.execute(delete(StaticRow).where(StaticRow.endpoint == row.endpoint, StaticRow.address == row.address))
    return not await session.scalar(select(func.count()).where(StaticRow.pair == row.pair))


async def at_address(session: AsyncSession, endpoint: str, address: str) -> StaticRow | None:
    """The host at an address."""
    return await session.get(StaticRow, (endpoint, address))


async def name_declined(session: AsyncSession, endpoint: str, addresses: Collection[str]) -> None:
    """Forgets that clients found these addresses in use: it is known now who uses them. Their pairs stay nobody's."""
    there = StaticRow.endpoint == endpoint, StaticRow.address.in_(addresses), StaticRow.until.is_not(None)
    await session.execute(delete(StaticRow).where(*there))


async def over(session: AsyncSession, at: datetime) -> list[StaticRow]:
    """Those whose time is over."""
    return list(await session.scalars(select(StaticRow).where(StaticRow.until <= at)))
