"""Neighbours: the last measurements between cloudlets. Pairs are ordered: a row is `cloudlet`'s measurement of
`neighbour`.

Rows refer to cloudlets by name only, so that removing a cloudlet from the region need not wait for its rows, which are
removed in the background."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    String,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.neighbour_reports import Current, Pair
from controller.db.base import NAME, Base, Time


class NeighbourRow(Base):
    """Times are in milliseconds, None if the last round brought nothing back. `loss` (0..1) is smoothed over the last
    rounds. `possible`: a place to move to, as long as it is fresh; `since` is when `possible` last changed. The row is
    fresh until `fresh_until`, whether the neighbour or the cloudlet itself falls silent."""

    __tablename__ = "neighbours"
    __table_args__ = (CheckConstraint("received <= sent", name="received"), {"sqlite_with_rowid": False})

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    neighbour: Mapped[str] = mapped_column(NAME, primary_key=True, index=True)
    at: Mapped[datetime] = mapped_column(Time)
    fresh_until: Mapped[datetime] = mapped_column(Time)
    method: Mapped[str] = mapped_column(String(4))
    sent: Mapped[int]
    received: Mapped[int]
    min_ms: Mapped[float | None]
    median_ms: Mapped[float | None]
    p95_ms: Mapped[float | None]
    jitter_ms: Mapped[float | None]
    loss: Mapped[float]
    possible: Mapped[bool]
    since: Mapped[datetime] = mapped_column(Time)


Medians = dict[str, dict[str, float]]
"""Cloudlet, other cloudlet, and the median in milliseconds that the first one measured in its last round. Only fresh
values; neighbours that did not answer are left out."""

BATCH = 500
"""Cloudlets in one statement, as a database limits the number of parameters."""


async def all_medians(session: AsyncSession, at: datetime | None = None) -> Medians:
    """Return the medians of all cloudlets."""
    found: Medians = {}
    await _read(session, found, NeighbourRow.fresh_until > (at or now()))
    return found


async def medians(session: AsyncSession, cloudlets: Iterable[str], at: datetime | None = None) -> Medians:
    """Return the medians that these cloudlets have measured, and those that others have measured of them."""
    found: Medians = {}
    names, fresh = sorted(cloudlets), NeighbourRow.fresh_until > (at or now())
    for some in (names[start : start + BATCH] for start in range(0, len(names), BATCH)):
        either = or_(NeighbourRow.cloudlet.in_(some), NeighbourRow.neighbour.in_(some))
        await _read(session, found, fresh & either)
    return found


async def _read(session: AsyncSession, found: Medians, whose: ColumnElement[bool]) -> None:
    query = select(NeighbourRow.cloudlet, NeighbourRow.neighbour, NeighbourRow.median_ms)
    for one, other, median in await session.execute(query.where(whose, NeighbourRow.median_ms.is_not(None))):
        found.setdefault(one, {})[other] = median or 0.0


VALUES = tuple(Current.__dataclass_fields__)
_columns = [getattr(NeighbourRow, name) for name in VALUES]
_change = (
    update(NeighbourRow.__table__)  # type: ignore[arg-type]
    .where(NeighbourRow.cloudlet == bindparam("of"), NeighbourRow.neighbour == bindparam("to"))
    .values({name: bindparam(name) for name in VALUES})
)


async def of(session: AsyncSession, cloudlets: Collection[str]) -> dict[Pair, Current]:
    """Return the last measurements of these cloudlets."""
    query = select(NeighbourRow.cloudlet, NeighbourRow.neighbour, *_columns).where(NeighbourRow.cloudlet.in_(cloudlets))
    return {(row[0], row[1]): Current(*row[2:]) for row in await session.execute(query)}


async def among(session: AsyncSession, pairs: Iterable[Pair]) -> dict[Pair, Current]:
    """Return the last measurements of these pairs, as far as there are any."""
    query = select(NeighbourRow.cloudlet, NeighbourRow.neighbour, *_columns)
    every, found = sorted(pairs), dict[Pair, Current]()
    for at in range(0, len(every), BATCH):
        some = query.where(tuple_(NeighbourRow.cloudlet, NeighbourRow.neighbour).in_(every[at : at + BATCH]))
        found |= {(row[0], row[1]): Current(*row[2:]) for row in await session.execute(some)}
    return found


async def save(session: AsyncSession, added: Mapping[Pair, Current], changed: Mapping[Pair, Current]) -> None:
    """Write current values, many at once."""
    connection = await session.connection()
    if added:
        rows = [{"cloudlet": of, "neighbour": to, **vars(value)} for (of, to), value in added.items()]
        await connection.execute(insert(NeighbourRow.__table__), rows)  # type: ignore[arg-type]
    if changed:
        await connection.execute(_change, [{"of": of, "to": to, **vars(v)} for (of, to), v in changed.items()])


async def between(session: AsyncSession, one: str, other: str) -> dict[Pair, NeighbourRow]:
    """Return the last measurements of two cloudlets of each other, as far as there are any."""
    either = or_(
        and_(NeighbourRow.cloudlet == one, NeighbourRow.neighbour == other),
        and_(NeighbourRow.cloudlet == other, NeighbourRow.neighbour == one),
    )
    return {(row.cloudlet, row.neighbour): row for row in await session.scalars(select(NeighbourRow).where(either))}


async def page(
    session: AsyncSession,
    after: Pair,
    limit: int,
    at: datetime,
    cloudlet: str | None = None,
    neighbour: str | None = None,
    possible: bool | None = None,
    stale: bool | None = None,
) -> list[NeighbourRow]:
    """Return up to `limit` pairs in the order of their names, after `after`."""
    behind = and_(NeighbourRow.cloudlet == after[0], NeighbourRow.neighbour > after[1])
    query = select(NeighbourRow).where(or_(NeighbourRow.cloudlet > after[0], behind))
    if cloudlet is not None:
        query = query.where(NeighbourRow.cloudlet == cloudlet)
    if neighbour is not None:
        query = query.where(NeighbourRow.neighbour == neighbour)
    if possible is not None:
        now_possible = and_(NeighbourRow.possible.is_(True), NeighbourRow.fresh_until > at)
        query = query.where(now_possible if possible else ~now_possible)
    if stale is not None:
        query = query.where(NeighbourRow.fresh_until <= at if stale else NeighbourRow.fresh_until > at)
    return list(await session.scalars(query.order_by(NeighbourRow.cloudlet, NeighbourRow.neighbour).limit(limit)))


async def matrix(
    session: AsyncSession, at: datetime, cloudlets: Collection[str], neighbours: Collection[str] | None
) -> list[tuple[str, str, float | None]]:
    """Return cloudlet, neighbour and median of each fresh measurement by these cloudlets, of all or of these
    neighbours."""
    query = select(NeighbourRow.cloudlet, NeighbourRow.neighbour, NeighbourRow.median_ms)
    query = query.where(NeighbourRow.fresh_until > at, NeighbourRow.cloudlet.in_(cloudlets))
    if neighbours is not None:
        query = query.where(NeighbourRow.neighbour.in_(neighbours))
    return [(one, other, median) for one, other, median in await session.execute(query)]


async def any_silent(session: AsyncSession, at: datetime) -> bool:
    """Return whether there are any neighbours for `silence`."""
    over = and_(NeighbourRow.possible.is_(True), NeighbourRow.fresh_until <= at)
    return await session.scalar(select(NeighbourRow.cloudlet).where(over).limit(1)) is not None


async def silence(session: AsyncSession, at: datetime) -> list[Pair]:
    """Remove neighbours that are not fresh any more from the possible ones; return them."""
    over = and_(NeighbourRow.possible.is_(True), NeighbourRow.fresh_until <= at)
    pairs = [
        (of, to) for of, to in await session.execute(select(NeighbourRow.cloudlet, NeighbourRow.neighbour).where(over))
    ]
    if pairs:
        await session.execute(update(NeighbourRow).where(over).values(possible=False, since=at))
    return pairs


async def counts(session: AsyncSession, at: datetime) -> dict[str, int]:
    """Return how many pairs are possible neighbours, too far (or lossy), and stale."""
    fresh = NeighbourRow.fresh_until > at
    found: dict[str, int] = {"possible": 0, "far": 0, "stale": 0}
    query = select(fresh, NeighbourRow.possible, func.count()).group_by(fresh, NeighbourRow.possible)
    for is_fresh, possible, number in await session.execute(query):
        found[("possible" if possible else "far") if is_fresh else "stale"] += number
    return found


async def named(session: AsyncSession) -> set[str]:
    """Return all cloudlets that a pair names."""
    found: set[str] = set()
    for column in (NeighbourRow.cloudlet, NeighbourRow.neighbour):
        found |= set(await session.scalars(select(column).distinct()))
    return found


async def forget(session: AsyncSession, names: Iterable[str], before: datetime) -> None:
    """Remove the pairs of cloudlets that are gone, and those that were not measured since `before`."""
    gone = list(names)
    if gone:
        await session.execute(
            delete(NeighbourRow).where(or_(NeighbourRow.cloudlet.in_(gone), NeighbourRow.neighbour.in_(gone)))
        )
    await session.execute(delete(NeighbourRow).where(NeighbourRow.at < before))
