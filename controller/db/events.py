"""Events: what happened, in order."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, String, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import NUMBER, Base, Time, now
from controller.db.engine import Lock, insert_alone, last

KEPT = 100_000
"""How many of the latest events are kept."""


ADDED = "weft.events"


class EventRow(Base):
    """`id` grows and is never given twice: readers resume by it. So no event may appear below one that was seen: they
    get their ids in the order in which their transactions are committed."""

    __tablename__ = "events"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    at: Mapped[datetime] = mapped_column(Time, default=now)
    type: Mapped[str] = mapped_column(String(40))
    subject: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(String(1000))
    data: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)


async def add(session: AsyncSession, type: str, subject: str, text: str, /, **data: Any) -> None:
    """Records an event with the transaction it belongs to, at its end. Events quote what others said: PostgreSQL has no
    place for the character NUL in a text."""
    if not session.info.get(ADDED):
        session.info[ADDED] = []
        last(session, _write)
    words = {"type": type[:40], "subject": subject[:200], "text": text[:1000]}
    row = {name: word.replace("\0", "\ufffd") for name, word in words.items()} | {"data": data, "at": now()}
    session.info[ADDED].append(row)


async def _write(session: AsyncSession) -> None:
    await insert_alone(session, Lock.EVENTS, EventRow, session.info.pop(ADDED))


async def add_all(session: AsyncSession, entries: Iterable[tuple[str, str, str, dict[str, Any]]]) -> None:
    """Records many events, as `add`: type, subject, text and data of each."""
    for type, subject, text, data in entries:
        await add(session, type, subject, text, **data)


async def after(session: AsyncSession, number: int, limit: int) -> list[EventRow]:
    """Up to `limit` events after the one with that id."""
    return list(await session.scalars(select(EventRow).where(EventRow.id > number).order_by(EventRow.id).limit(limit)))


async def latest(session: AsyncSession) -> int:
    """The id of the latest event; 0 if there is none."""
    return await session.scalar(select(func.max(EventRow.id))) or 0


async def latest_of(session: AsyncSession, types: Sequence[str]) -> EventRow | None:
    """The latest event of any of these types that is kept."""
    query = select(EventRow).where(EventRow.type.in_(types)).order_by(EventRow.id.desc()).limit(1)
    row: EventRow | None = await session.scalar(query)
    return row


async def prune(session: AsyncSession) -> None:
    """Forgets events older than the latest KEPT."""
    await session.execute(delete(EventRow).where(EventRow.id <= await latest(session) - KEPT))
