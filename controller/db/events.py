"""Events: the acts and incidents of the region, in order."""

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, Index, String, Text, cast, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.event_budget import EventBudget, of_cloudlet, of_endpoint, of_pe
from controller.core.event_data import FOREIGN, SIZE, capped
from controller.db.base import NUMBER, Base, Time
from controller.db.engine import EVENTS, Lock, insert_alone, last

KEPT = 100_000
"""How many of the latest events by operators and the controller are kept; of all other events, the same number."""

KEPT_OF_SOURCE = 2_000
"""How many of the latest events are kept for one source outside of the controller."""

SOURCES = (of_cloudlet, of_endpoint, of_pe)
"""The sources that are named after one thing."""

ADDED = "weft.events"

Losing = Callable[[AsyncSession, ColumnElement[bool], int], Awaitable[None]]
"""A function that is told of events before they are deleted: those of a condition, up to an id."""


class EventRow(Base):
    """`id` grows and is never given twice, because readers resume by it. No event may appear below one that was already
    seen, so events get their ids in the order in which their transactions are committed."""

    __tablename__ = "events"
    __table_args__ = (
        Index("events_by_source", "source", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    at: Mapped[datetime] = mapped_column(Time, default=now)
    type: Mapped[str] = mapped_column(String(40))
    subject: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(String(1000))
    data: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    source: Mapped[str | None] = mapped_column(String(80))


@dataclass(frozen=True)
class Which:
    """A selection of events; a field that is None selects all. `type` may end in `*`. `about` is a name that is the
    subject, the source, or anywhere in `data`. `since` is the first moment included; `until` is the first moment, and
    `before` the first id, that is excluded."""

    type: str | None = None
    about: str | None = None
    source: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions for a query; all of them must hold."""
        if self.type is not None and self.type.endswith("*"):
            yield EventRow.type.startswith(self.type[:-1], autoescape=True)
        elif self.type is not None:
            yield EventRow.type == self.type
        if self.about is not None:
            yield or_(
                EventRow.subject == self.about,
                EventRow.source.in_(of(self.about) for of in SOURCES),
                cast(EventRow.data, Text).contains(json.dumps(self.about), autoescape=True),
            )
        if self.source is not None:
            yield EventRow.source == self.source
        if self.since is not None:
            yield EventRow.at >= self.since
        if self.until is not None:
            yield EventRow.at < self.until
        if self.before is not None:
            yield EventRow.id < self.before


ALL = Which()


async def add(
    session: AsyncSession, type: str, subject: str, text: str, /, *, caused_by: str | None = None, **data: Any
) -> None:
    """Record an event at the end of the transaction it belongs to. `caused_by` names its source outside of the
    controller (see `core/event_budget.py`): beyond the source's budget, the event is only counted."""
    budget: EventBudget = session.info[EVENTS]
    if caused_by is None or budget.admit(caused_by, type, text, time.monotonic()):
        await put(session, type, subject, text, data, caused_by)


async def put(
    session: AsyncSession, type: str, subject: str, text: str, data: dict[str, Any], source: str | None
) -> None:
    """Record an event that is within its source's budget. Events quote texts of others, and PostgreSQL cannot store the
    character NUL in a text."""
    if not session.info.get(ADDED):
        session.info[ADDED] = []
        last(session, _write)
    text = text if len(text) <= 1000 else text[:999] + "…"
    words = {"type": type[:40], "subject": subject[:200], "text": text}
    row: dict[str, Any] = {name: word.replace("\0", "\ufffd") for name, word in words.items()} | {"at": now()}
    row |= {"data": capped(data, FOREIGN if source else SIZE), "source": source[:80] if source else None}
    session.info[ADDED].append(row)


async def _write(session: AsyncSession) -> None:
    await insert_alone(session, Lock.EVENTS, EventRow, session.info.pop(ADDED))


async def add_all(
    session: AsyncSession, entries: Iterable[tuple[str, str, str, dict[str, Any]]], *, caused_by: str | None
) -> None:
    """Record many events of one source, as `add`: type, subject, text and data of each."""
    for type, subject, text, data in entries:
        await add(session, type, subject, text, caused_by=caused_by, **data)


async def after(session: AsyncSession, number: int, limit: int, which: Which = ALL) -> list[EventRow]:
    """Return up to `limit` events after the one with that id, in order."""
    query = select(EventRow).where(EventRow.id > number, *which.conditions()).order_by(EventRow.id).limit(limit)
    return list(await session.scalars(query))


async def newest(session: AsyncSession, limit: int, which: Which = ALL) -> list[EventRow]:
    """Return the latest `limit` events, in order."""
    query = select(EventRow).where(*which.conditions()).order_by(EventRow.id.desc()).limit(limit)
    return list(await session.scalars(query))[::-1]


async def latest(session: AsyncSession) -> int:
    """Return the id of the latest event; 0 if there is none."""
    return await session.scalar(select(func.max(EventRow.id))) or 0


async def latest_of(session: AsyncSession, types: Sequence[str]) -> EventRow | None:
    """Return the latest stored event of any of these types."""
    query = select(EventRow).where(EventRow.type.in_(types)).order_by(EventRow.id.desc()).limit(1)
    row: EventRow | None = await session.scalar(query)
    return row


async def prune(session: AsyncSession, losing: Losing) -> None:
    """Delete events older than the latest KEPT, and those of each source older than its latest KEPT_OF_SOURCE, so that
    no source displaces the events of others or of operators. Tells `losing` before."""
    for kind in (EventRow.source.is_(None), EventRow.source.is_not(None)):
        await _prune(session, kind, KEPT, losing)
    many = select(EventRow.source).where(EventRow.source.is_not(None)).group_by(EventRow.source)
    for source in list(await session.scalars(many.having(func.count() > KEPT_OF_SOURCE))):
        await _prune(session, EventRow.source == source, KEPT_OF_SOURCE, losing)


async def _prune(session: AsyncSession, which: ColumnElement[bool], kept: int, losing: Losing) -> None:
    newest = select(EventRow.id).where(which).order_by(EventRow.id.desc()).offset(kept).limit(1)
    if (last := await session.scalar(newest)) is not None:
        await losing(session, which, last)
        await session.execute(delete(EventRow).where(which, EventRow.id <= last))
