"""Pairs: which device has which pair of a LAN. A pair outlives its leases, so that a device that returns gets its old
one back; it is taken away only when the plan is full and somebody else needs it."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Integer, UniqueConstraint, delete, exists, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, aliased, mapped_column

from controller.db.base import NAME, Base, Time, now
from controller.db.leases import LeaseRow


class PairRow(Base):
    """`number` counts the plan's pairs from 0. `used_at` is when it last had a lease granted or renewed."""

    __tablename__ = "pairs"
    __table_args__ = (UniqueConstraint("endpoint", "number"), UniqueConstraint("endpoint", "device"))

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name"))
    device: Mapped[str] = mapped_column(NAME, ForeignKey("devices.name"), index=True)
    number: Mapped[int] = mapped_column(BigInteger)
    used_at: Mapped[datetime] = mapped_column(Time, default=now)


async def of(session: AsyncSession, endpoint: str, device: str) -> PairRow | None:
    """The pair a device has, or had last, at an endpoint."""
    query = select(PairRow).where(PairRow.endpoint == endpoint, PairRow.device == device)
    row: PairRow | None = await session.scalar(query)
    return row


async def free_number(session: AsyncSession, endpoint: str, capacity: int) -> int | None:
    """A pair nobody has: the one after the greatest in use or, at the end of the plan, the lowest gap."""
    top = await session.scalar(select(func.max(PairRow.number)).where(PairRow.endpoint == endpoint))
    if top is None:
        return 0
    if top + 1 < capacity:
        return int(top) + 1
    mine, below = aliased(PairRow), aliased(PairRow)
    if not await session.scalar(select(exists().where(mine.endpoint == endpoint, mine.number == 0))):
        return 0
    taken = exists().where(below.endpoint == endpoint, below.number == mine.number + 1)
    gap = select(func.min(mine.number + 1)).where(mine.endpoint == endpoint, mine.number + 1 < capacity, ~taken)
    found = await session.scalar(gap)
    return None if found is None else int(found)


async def idle(session: AsyncSession, endpoint: str, at: datetime) -> PairRow | None:
    """The pair that has been without a lease for longest."""
    leased = exists().where(LeaseRow.pair == PairRow.id, LeaseRow.expires_at > at)
    query = select(PairRow).where(PairRow.endpoint == endpoint, ~leased).order_by(PairRow.used_at, PairRow.id).limit(1)
    row: PairRow | None = await session.scalar(query)
    return row


async def give(session: AsyncSession, endpoint: str, device: str, number: int) -> PairRow:
    """Gives a free pair to a device."""
    pair = PairRow(endpoint=endpoint, device=device, number=number)
    session.add(pair)
    await session.flush()
    return pair


async def take(session: AsyncSession, pair: PairRow) -> None:
    """Takes a pair, and what is left of expired leases, from its device."""
    await session.execute(delete(LeaseRow).where(LeaseRow.pair == pair.id))
    await session.execute(delete(PairRow).where(PairRow.id == pair.id))


async def touch(session: AsyncSession, pair: PairRow, at: datetime) -> None:
    """Notes that the pair was used."""
    await session.execute(update(PairRow).where(PairRow.id == pair.id).values(used_at=at))


async def count(session: AsyncSession, device: str) -> int:
    """How many pairs a device has, over all endpoints."""
    return await session.scalar(select(func.count()).where(PairRow.device == device)) or 0


async def remove_of(session: AsyncSession, device: str) -> None:
    """Takes all pairs, and what is left of expired leases, from a device."""
    await session.execute(delete(LeaseRow).where(LeaseRow.device == device))
    await session.execute(delete(PairRow).where(PairRow.device == device))


async def hand_over(session: AsyncSession, giver: str, taker: str) -> None:
    """Gives all pairs and leases of a device to another that has none."""
    await session.execute(update(LeaseRow).where(LeaseRow.device == giver).values(device=taker))
    await session.execute(update(PairRow).where(PairRow.device == giver).values(device=taker))
