"""Delegations: which incarnation of an agent gives out addresses of an endpoint, and which ones rest."""

from datetime import datetime, timedelta

from sqlalchemy import (
    BigInteger,
    ForeignKey,
    String,
    UniqueConstraint,
    and_,
    exists,
    func,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, aliased, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, Base, Time
from controller.db.blocks import BlockRow


class DelegationRow(Base):
    """One row for each incarnation of the endpoint's agent. The one with the greatest epoch is in force; the others
    rest until their time is over. `turn` and `applied` are those of the last exchange; `longest` is the longest lease
    that it could give, in seconds. `rest_seconds` is the rest that is left as counted by the replica that lets it rest,
    `rest_until` its end by the clock: both must be over, so that a clock that jumps ends no rest. `heard` is False
    until the agent knows that its rest is counted: before, and without a controller, it may use again the blocks of a
    former incarnation."""

    __tablename__ = "delegations"
    __table_args__ = (UniqueConstraint("endpoint", "incarnation"),)

    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name", ondelete="CASCADE"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    incarnation: Mapped[str] = mapped_column(String(32))
    turn: Mapped[int] = mapped_column(BigInteger)
    applied: Mapped[int] = mapped_column(BigInteger)
    longest: Mapped[int] = mapped_column(BigInteger)
    made_at: Mapped[datetime] = mapped_column(Time, default=now)
    heard: Mapped[bool] = mapped_column(server_default=true(), default=True)
    rest_seconds: Mapped[float | None]
    rest_until: Mapped[datetime | None] = mapped_column(Time)


async def locked(session: AsyncSession, endpoint: str, incarnation: str) -> DelegationRow | None:
    """Return the row of an incarnation; other exchanges of it wait for this transaction."""
    query = select(DelegationRow).where(DelegationRow.endpoint == endpoint, DelegationRow.incarnation == incarnation)
    row: DelegationRow | None = await session.scalar(query.with_for_update())
    return row


async def in_force(session: AsyncSession, endpoint: str) -> DelegationRow | None:
    """Return the delegation that does not rest."""
    query = select(DelegationRow).where(DelegationRow.endpoint == endpoint, DelegationRow.rest_seconds.is_(None))
    row: DelegationRow | None = await session.scalar(query)
    return row


async def any_of(session: AsyncSession, endpoint: str) -> bool:
    """Return whether there is a delegation, in force or at rest."""
    return (
        await session.scalar(select(DelegationRow.epoch).where(DelegationRow.endpoint == endpoint).limit(1)) is not None
    )


async def begin(
    session: AsyncSession, endpoint: str, incarnation: str, longest: int, at: datetime, *, heard: bool
) -> DelegationRow:
    """Begin a delegation to a new incarnation, with an epoch above all others. The delegation before rests from now
    on."""
    await rest(session, endpoint, at)
    top = await session.scalar(select(func.max(DelegationRow.epoch)).where(DelegationRow.endpoint == endpoint))
    row = DelegationRow(
        endpoint=endpoint,
        epoch=(top or 0) + 1,
        incarnation=incarnation,
        turn=0,
        applied=0,
        longest=longest,
        made_at=at,
        heard=heard,
    )
    session.add(row)
    await session.flush()
    return row


async def rest(session: AsyncSession, endpoint: str, at: datetime) -> None:
    """Let the delegation in force rest: nothing new is leased from it, and its leases live for as long as they may."""
    row = await in_force(session, endpoint)
    if row is not None:
        row.rest_seconds, row.rest_until = float(row.longest), at + timedelta(seconds=row.longest)
        await session.flush()


async def tick(session: AsyncSession, seconds: float) -> None:
    """Subtract so many seconds from every rest."""
    left = DelegationRow.rest_seconds - seconds
    await session.execute(
        update(DelegationRow).where(DelegationRow.rest_seconds.is_not(None)).values(rest_seconds=left)
    )


async def page(
    session: AsyncSession, behind: tuple[str, int], limit: int, endpoint: str | None = None
) -> list[tuple[DelegationRow, int]]:
    """Return up to `limit` delegations by endpoint and epoch, after that one, and how many blocks each has."""
    owned = and_(BlockRow.endpoint == DelegationRow.endpoint, BlockRow.epoch == DelegationRow.epoch)
    blocks = select(func.count()).select_from(BlockRow).where(owned).correlate(DelegationRow).scalar_subquery()
    later = and_(DelegationRow.endpoint == behind[0], DelegationRow.epoch > behind[1])
    query = select(DelegationRow, blocks).where(or_(DelegationRow.endpoint > behind[0], later))
    if endpoint is not None:
        query = query.where(DelegationRow.endpoint == endpoint)
    rows = await session.execute(query.order_by(DelegationRow.endpoint, DelegationRow.epoch).limit(limit))
    return [(row, count) for row, count in rows]


async def resting(session: AsyncSession) -> bool:
    """Return whether any delegation rests."""
    return (
        await session.scalar(select(DelegationRow.epoch).where(DelegationRow.rest_seconds.is_not(None)).limit(1))
        is not None
    )


async def rested(session: AsyncSession, at: datetime) -> list[DelegationRow]:
    """Return the delegations whose rest is over, and of which the agent knows that it has them no longer."""
    over = and_(DelegationRow.rest_seconds <= 0, DelegationRow.rest_until <= at)
    later = aliased(DelegationRow)
    unheard = exists().where(
        later.endpoint == DelegationRow.endpoint, later.rest_seconds.is_(None), later.heard.is_(False)
    )
    return list(await session.scalars(select(DelegationRow).where(over, ~unheard)))


async def remove(session: AsyncSession, row: DelegationRow) -> None:
    """Remove a delegation that holds no blocks."""
    await session.delete(row)
    await session.flush()
