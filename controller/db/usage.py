"""The usage of LANs: the peak of each day, from which forecasts are made."""

from collections.abc import Collection, Mapping
from datetime import date, datetime, timedelta

from sqlalchemy import Date, ForeignKey, Index, delete, distinct, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.usage import Peak
from controller.db.base import NAME, Base
from controller.db.leases import LeaseRow
from controller.db.pairs import PairRow

KEPT = timedelta(days=400)
"""How long peaks are kept: a year, and a month more so that a year is always complete."""


class UsageRow(Base):
    """One row per LAN and day (UTC). `told`: an event on that day, or before, has reported that the LAN is filling."""

    __tablename__ = "usage"
    __table_args__ = (Index("usage_filling", "day", sqlite_where=text("told"), postgresql_where=text("told")),)

    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name", ondelete="CASCADE"), primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    peak: Mapped[int]
    told: Mapped[bool] = mapped_column(default=False)


async def leased(session: AsyncSession, at: datetime, endpoints: Collection[str]) -> dict[str, int]:
    """Return the number of pairs with a live lease, by endpoint."""
    query = select(LeaseRow.endpoint, func.count(distinct(LeaseRow.pair)))
    query = query.where(LeaseRow.endpoint.in_(endpoints), LeaseRow.expires_at > at)
    return {row[0]: row[1] for row in await session.execute(query.group_by(LeaseRow.endpoint))}


async def assigned(session: AsyncSession, endpoints: Collection[str]) -> dict[str, int]:
    """Return the number of pairs that have a device, by endpoint."""
    query = select(PairRow.endpoint, func.count()).where(PairRow.endpoint.in_(endpoints), PairRow.device.is_not(None))
    query = query.group_by(PairRow.endpoint)
    return {row[0]: row[1] for row in await session.execute(query)}


async def peaks(session: AsyncSession, endpoints: Collection[str], since: date) -> dict[str, list[Peak]]:
    """Return the daily peaks by endpoint, the earliest first."""
    query = select(UsageRow.endpoint, UsageRow.day, UsageRow.peak).order_by(UsageRow.day)
    found: dict[str, list[Peak]] = {}
    for name, day, peak in await session.execute(query.where(UsageRow.endpoint.in_(endpoints), UsageRow.day >= since)):
        found.setdefault(name, []).append((day, peak))
    return found


async def note(session: AsyncSession, day: date, counts: Mapping[str, int]) -> None:
    """Raise the day's peaks to the present counts."""
    query = select(UsageRow.endpoint, UsageRow.peak).where(UsageRow.day == day, UsageRow.endpoint.in_(counts.keys()))
    known = {row[0]: row[1] for row in await session.execute(query)}
    if fresh := [name for name in counts if name not in known]:
        before = await _told_before(session, day)
        rows = [{"endpoint": n, "day": day, "peak": counts[n], "told": n in before} for n in fresh]
        await session.execute(insert(UsageRow), rows)
    raised = [{"endpoint": n, "day": day, "peak": c} for n, c in counts.items() if c > known.get(n, c)]
    if raised:
        await session.execute(update(UsageRow), raised)


async def _told_before(session: AsyncSession, day: date) -> set[str]:
    """Return the LANs that were reported as filling on the last day before."""
    last = select(func.max(UsageRow.day)).where(UsageRow.day < day).scalar_subquery()
    return set(await session.scalars(select(UsageRow.endpoint).where(UsageRow.day == last, UsageRow.told)))


async def told(session: AsyncSession, day: date, endpoints: Collection[str]) -> set[str]:
    """Return those of the LANs that are reported as filling."""
    query = select(UsageRow.endpoint).where(UsageRow.day == day, UsageRow.told, UsageRow.endpoint.in_(endpoints))
    return set(await session.scalars(query))


async def filling(session: AsyncSession, day: date) -> int:
    """Return how many LANs are reported as filling."""
    query = select(func.count()).select_from(UsageRow).where(UsageRow.day == day, UsageRow.told)
    return await session.scalar(query) or 0


async def tell(session: AsyncSession, day: date, endpoint: str, filling: bool) -> None:
    """Record what was reported of a LAN."""
    chosen = update(UsageRow).where(UsageRow.day == day, UsageRow.endpoint == endpoint)
    await session.execute(chosen.values(told=filling))


async def prune(session: AsyncSession, day: date) -> None:
    """Delete peaks older than KEPT."""
    await session.execute(delete(UsageRow).where(UsageRow.day < day - KEPT))
