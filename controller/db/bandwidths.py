"""Bandwidths between cloudlets, estimated from the transfers of VM moves."""

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, and_, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.bandwidths import Bandwidth, after
from controller.core.clock import now
from controller.db.base import NAME, Base, Time


class BandwidthRow(Base):
    """From `cloudlet` to `neighbour`: bits per second, averaged over `moves` moves with the later ones counting more;
    `last_bytes` and `last_seconds` are those of the latest move. `fast_at` is when the latest move over a thin line
    found it fast, None if it did not."""

    __tablename__ = "bandwidths"
    __table_args__ = (CheckConstraint("bits_per_second >= 0", name="bits_per_second"),)

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    neighbour: Mapped[str] = mapped_column(NAME, primary_key=True)
    bits_per_second: Mapped[float]
    moves: Mapped[int]
    last_bytes: Mapped[int] = mapped_column(BigInteger)
    last_seconds: Mapped[float]
    at: Mapped[datetime] = mapped_column(Time)
    fast_at: Mapped[datetime | None] = mapped_column(Time)


async def record(
    session: AsyncSession, cloudlet: str, neighbour: str, bytes: int, seconds: float, fast: bool | None = None
) -> Bandwidth:
    """Take a move's transfer from `cloudlet` to `neighbour` into the estimate: `bytes` that went over the wire in
    `seconds` of transfer, without waiting and without preparation. To be called once per move, in the transaction that
    ends it. `fast` is what a thin move found, None for other moves. Returns the estimate. Raises ValueError for
    impossible values."""
    query = select(BandwidthRow).where(BandwidthRow.cloudlet == cloudlet, BandwidthRow.neighbour == neighbour)
    row = await session.scalar(query.with_for_update())
    estimate = after(Bandwidth(row.bits_per_second, row.moves) if row else None, bytes, seconds)
    if row is None:
        row = BandwidthRow(cloudlet=cloudlet, neighbour=neighbour)
        session.add(row)
    row.bits_per_second, row.moves = estimate.bits_per_second, estimate.moves
    row.last_bytes, row.last_seconds, row.at = bytes, seconds, now()
    if fast is not None:
        row.fast_at = row.at if fast else None
    await session.flush()
    return estimate


async def of(session: AsyncSession, cloudlet: str, neighbour: str) -> float | None:
    """Return the bits per second from one to the other, None if no move has gone that way."""
    way = BandwidthRow.cloudlet == cloudlet, BandwidthRow.neighbour == neighbour
    rate: float | None = await session.scalar(select(BandwidthRow.bits_per_second).where(*way))
    return rate


async def to(session: AsyncSession, cloudlet: str, sources: Collection[str]) -> dict[str, float]:
    """Return the bits per second from each of these cloudlets to one, as far as moves have gone that way."""
    query = select(BandwidthRow.cloudlet, BandwidthRow.bits_per_second)
    way = BandwidthRow.neighbour == cloudlet, BandwidthRow.cloudlet.in_(sources)
    rows = await session.execute(query.where(*way))
    return {row.cloudlet: row.bits_per_second for row in rows}


async def fast(session: AsyncSession, cloudlet: str, neighbour: str, since: datetime) -> bool:
    """Return whether a thin move has found the line fast since then, and none after it has not."""
    row = await session.get(BandwidthRow, (cloudlet, neighbour))
    return row is not None and row.fast_at is not None and row.fast_at >= since


async def page(
    session: AsyncSession,
    behind: tuple[str, str],
    limit: int,
    cloudlet: str | None = None,
    neighbour: str | None = None,
) -> list[BandwidthRow]:
    """Return up to `limit` estimates in the order of the names, after that pair."""
    later = and_(BandwidthRow.cloudlet == behind[0], BandwidthRow.neighbour > behind[1])
    query = select(BandwidthRow).where(or_(BandwidthRow.cloudlet > behind[0], later))
    if cloudlet is not None:
        query = query.where(BandwidthRow.cloudlet == cloudlet)
    if neighbour is not None:
        query = query.where(BandwidthRow.neighbour == neighbour)
    return list(await session.scalars(query.order_by(BandwidthRow.cloudlet, BandwidthRow.neighbour).limit(limit)))


async def forget(session: AsyncSession, names: Iterable[str]) -> None:
    """Remove the estimates of cloudlets that are gone."""
    gone = list(names)
    await session.execute(
        delete(BandwidthRow).where(or_(BandwidthRow.cloudlet.in_(gone), BandwidthRow.neighbour.in_(gone)))
    )
