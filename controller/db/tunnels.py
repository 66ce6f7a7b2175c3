"""Encrypted tunnels: the last report of each end, and the alarms that are on.

Rows refer to cloudlets by name only, as those of neighbours do (`controller/db/neighbours.py`)."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import String, and_, delete, func, insert, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.names import printable
from controller.core.tunnels import Pair, Word
from controller.db.base import NAME, NUMBER, Base, Time
from controller.wire.tunnels import Condition, Ipsec, IpsecTunnel

JITTER = timedelta(seconds=2)
"""The most by which two reports of the same moment by a cloudlet differ."""


class TunnelRow(Base):
    """The report of `cloudlet` at `at` on its tunnel to `peer`: up, or not, since `since`. The other columns are as in
    `controller/wire/tunnels.py`."""

    __tablename__ = "tunnels"
    __table_args__ = ({"sqlite_with_rowid": False},)

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    peer: Mapped[str] = mapped_column(NAME, primary_key=True, index=True)
    local: Mapped[str] = mapped_column(String(45))
    remote: Mapped[str] = mapped_column(String(45))
    state: Mapped[Condition] = mapped_column(String(10), index=True)
    since: Mapped[datetime] = mapped_column(Time)
    at: Mapped[datetime] = mapped_column(Time)
    ike: Mapped[str] = mapped_column(String(120))
    esp: Mapped[str] = mapped_column(String(120))
    keyed_at: Mapped[datetime | None] = mapped_column(Time)
    rekey_at: Mapped[datetime | None] = mapped_column(Time)
    bytes_in: Mapped[int] = mapped_column(NUMBER)
    bytes_out: Mapped[int] = mapped_column(NUMBER)
    packets_in: Mapped[int] = mapped_column(NUMBER)
    packets_out: Mapped[int] = mapped_column(NUMBER)
    dropped_in: Mapped[int] = mapped_column(NUMBER)
    dropped_out: Mapped[int] = mapped_column(NUMBER)
    why: Mapped[str] = mapped_column(String(300))


class TunnelAlarmRow(Base):
    """There is no tunnel between the two (`one` before `other` by name), though there should be, since `since`."""

    __tablename__ = "tunnel_alarms"
    __table_args__ = ({"sqlite_with_rowid": False},)

    one: Mapped[str] = mapped_column(NAME, primary_key=True)
    other: Mapped[str] = mapped_column(NAME, primary_key=True)
    since: Mapped[datetime] = mapped_column(Time)


async def save(
    session: AsyncSession, told: Mapping[str, tuple[datetime, Ipsec | None]], there: Collection[str]
) -> None:
    """Write cloudlets' reports, each of that time, as far as they are about cloudlets that are `there`; remove tunnels
    that are no longer reported. Raises IntegrityError if another transaction was quicker."""
    query = select(TunnelRow.cloudlet, TunnelRow.peer, TunnelRow.state, TunnelRow.since)
    known = {
        (cloudlet, peer): (state, since)
        for cloudlet, peer, state, since in await session.execute(query.where(TunnelRow.cloudlet.in_(told)))
    }
    added: list[dict[str, Any]] = []
    said: set[Pair] = set()
    for cloudlet, (at, ipsec) in sorted(told.items()):
        for tunnel in ipsec.tunnels if ipsec is not None else ():
            key = cloudlet, tunnel.cloudlet
            if key in said or tunnel.cloudlet not in there:
                continue
            said.add(key)
            values = _values(tunnel, at, known.get(key))
            if key not in known:
                added.append({"cloudlet": cloudlet, "peer": tunnel.cloudlet, **values})
                continue
            this = and_(TunnelRow.cloudlet == key[0], TunnelRow.peer == key[1])
            await session.execute(update(TunnelRow).where(this).values(**values))
    if added:
        await session.execute(insert(TunnelRow), added)
    for cloudlet, peer in sorted(known.keys() - said):
        await session.execute(delete(TunnelRow).where(TunnelRow.cloudlet == cloudlet, TunnelRow.peer == peer))


def _values(tunnel: IpsecTunnel, at: datetime, before: tuple[Condition, datetime] | None) -> dict[str, Any]:
    since = at - timedelta(seconds=tunnel.age)
    if before is not None and (before[0] == "up") == (tunnel.state == "up") and abs(since - before[1]) < JITTER:
        since = before[1]
    same = tunnel.model_dump(exclude={"cloudlet", "age", "keyed", "rekey"})
    texts = {name: printable(value, len(value)) for name, value in same.items() if isinstance(value, str)}
    return (
        same
        | texts
        | {
            "since": since,
            "at": at,
            "keyed_at": at - timedelta(seconds=tunnel.keyed) if tunnel.keyed is not None else None,
            "rekey_at": at + timedelta(seconds=tunnel.rekey) if tunnel.rekey is not None else None,
        }
    )


async def page(
    session: AsyncSession,
    after: Pair,
    limit: int,
    cloudlet: str | None = None,
    peer: str | None = None,
    state: str | None = None,
    alarm: bool | None = None,
) -> list[tuple[TunnelRow, datetime | None]]:
    """Return up to `limit` tunnels after `after`, in the order of their names, and since when each has an alarm."""
    behind = and_(TunnelRow.cloudlet == after[0], TunnelRow.peer > after[1])
    query = _with_alarm.where(or_(TunnelRow.cloudlet > after[0], behind))
    for column, value in ((TunnelRow.cloudlet, cloudlet), (TunnelRow.peer, peer), (TunnelRow.state, state)):
        if value is not None:
            query = query.where(column == value)
    if alarm is not None:
        query = query.where(TunnelAlarmRow.since.is_not(None) if alarm else TunnelAlarmRow.since.is_(None))
    rows = await session.execute(query.order_by(TunnelRow.cloudlet, TunnelRow.peer).limit(limit))
    return [(row, since) for row, since in rows]


async def get(session: AsyncSession, cloudlet: str, peer: str) -> tuple[TunnelRow, datetime | None] | None:
    """Return one end's report, and since when there is an alarm; None if it has reported nothing."""
    rows = await session.execute(_with_alarm.where(TunnelRow.cloudlet == cloudlet, TunnelRow.peer == peer))
    return next(((row, since) for row, since in rows), None)


_with_alarm = select(TunnelRow, TunnelAlarmRow.since).outerjoin(
    TunnelAlarmRow,
    or_(
        and_(TunnelAlarmRow.one == TunnelRow.cloudlet, TunnelAlarmRow.other == TunnelRow.peer),
        and_(TunnelAlarmRow.one == TunnelRow.peer, TunnelAlarmRow.other == TunnelRow.cloudlet),
    ),
)


async def counts(session: AsyncSession) -> dict[str, int]:
    """Return the number of ends in each state."""
    found = {"up": 0, "connecting": 0, "down": 0}
    for state, number in await session.execute(select(TunnelRow.state, func.count()).group_by(TunnelRow.state)):
        found[state] = number
    return found


async def alarms(session: AsyncSession) -> set[Pair]:
    """Return the pairs with an alarm."""
    return {(one, other) for one, other in await session.execute(select(TunnelAlarmRow.one, TunnelAlarmRow.other))}


async def alarm_count(session: AsyncSession) -> int:
    """Return how many pairs have an alarm."""
    return await session.scalar(select(func.count()).select_from(TunnelAlarmRow)) or 0


async def words(session: AsyncSession, raised: Collection[Pair]) -> list[Word]:
    """Return the reports of ends that have no tunnel, and those of both ends of these pairs."""
    both = [(a, b) for one, other in raised for a, b in ((one, other), (other, one))]
    which = TunnelRow.state != "up"
    if both:
        which = or_(which, tuple_(TunnelRow.cloudlet, TunnelRow.peer).in_(both))
    query = select(TunnelRow.cloudlet, TunnelRow.peer, TunnelRow.state, TunnelRow.since, TunnelRow.why).where(which)
    return [Word(one, peer, state == "up", since, why) for one, peer, state, since, why in await session.execute(query)]


async def raise_(session: AsyncSession, pair: Pair, since: datetime) -> None:
    """Record an alarm."""
    session.add(TunnelAlarmRow(one=pair[0], other=pair[1], since=since))


async def clear(session: AsyncSession, pair: Pair) -> None:
    """Remove an alarm."""
    await session.execute(delete(TunnelAlarmRow).where(TunnelAlarmRow.one == pair[0], TunnelAlarmRow.other == pair[1]))


async def named(session: AsyncSession) -> set[str]:
    """Return the cloudlets that have reported tunnels."""
    return set(await session.scalars(select(TunnelRow.cloudlet).distinct()))


async def forget(session: AsyncSession, names: Iterable[str]) -> None:
    """Remove the reports of cloudlets that are gone."""
    await session.execute(delete(TunnelRow).where(TunnelRow.cloudlet.in_(list(names))))
