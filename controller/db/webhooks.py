"""Receivers of webhooks, and how far each has received the events. The event table itself is the queue: a row has the
id of the last event that its receiver has taken, so that a restart or a change of leader loses none."""

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import CheckConstraint, ColumnElement, String, Text, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db import events
from controller.db.base import NAME, NUMBER, Base, Time
from controller.db.events import EventRow, Which

State = Literal["active", "paused"]

COUNTED = 10_000
"""Most events of a backlog that are counted."""


class WebhookRow(Base):
    """Events of `type`, `about` and `source` (`db/events.py: Which`) go to `url`, whose certificate is from the
    authorities in `root`, or from those of the machine. `sealed`: the secrets, encrypted. `position`: the id of the
    last event that the receiver has taken, or that is not for it. `revision` grows with each change by an operator, and
    with each pause: a sender that began before writes nothing any more. `failing_since`, `attempts`, `retry_at` and
    `error` are about the event after `position`. `missed` counts events that were deleted before they could be sent."""

    __tablename__ = "webhooks"
    __table_args__ = (CheckConstraint("state IN ('active', 'paused')", name="state"),)

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    url: Mapped[str] = mapped_column(String(2000))
    root: Mapped[str | None] = mapped_column(Text)
    type: Mapped[str | None] = mapped_column(String(200))
    about: Mapped[str | None] = mapped_column(String(200))
    source: Mapped[str | None] = mapped_column(String(200))
    sealed: Mapped[str] = mapped_column(String(2000))
    state: Mapped[State] = mapped_column(String(10), default="active")
    paused_because: Mapped[str] = mapped_column(String(300), default="")
    position: Mapped[int] = mapped_column(NUMBER)
    revision: Mapped[int] = mapped_column(default=1)
    failing_since: Mapped[datetime | None] = mapped_column(Time)
    attempts: Mapped[int] = mapped_column(default=0)
    retry_at: Mapped[datetime | None] = mapped_column(Time)
    error: Mapped[str] = mapped_column(String(300), default="")
    missed: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(Time, default=now)

    @property
    def which(self) -> Which:
        """The events that the receiver wants."""
        return Which(self.type, self.about, self.source)

    def begin_anew(self) -> None:
        """Forget failures: the next attempt is due now."""
        self.failing_since = self.retry_at = None
        self.attempts, self.error = 0, ""


async def get(session: AsyncSession, name: str, *, lock: bool = False) -> WebhookRow | None:
    """Return the receiver of that name. `lock`: no other transaction changes it before this one ends."""
    return await session.get(WebhookRow, name, populate_existing=True, with_for_update=lock or None)


async def load(session: AsyncSession) -> list[WebhookRow]:
    """Return all receivers, sorted by name."""
    return list(await session.scalars(select(WebhookRow).order_by(WebhookRow.name)))


async def save(session: AsyncSession, name: str, revision: int, position: int, /, **values: Any) -> bool:
    """Write how far a receiver is, and return whether its row is still at that revision. The position never goes
    back."""
    row = WebhookRow
    query = update(row).where(row.name == name, row.revision == revision, row.position <= position)
    return bool((await session.execute(query.values(position=position, **values))).rowcount)  # type: ignore[attr-defined]


async def backlog(session: AsyncSession, row: WebhookRow) -> int:
    """Return the number of events that wait for a receiver, at most COUNTED."""
    waiting = select(EventRow.id).where(EventRow.id > row.position, *row.which.conditions()).limit(COUNTED)
    return await session.scalar(select(func.count()).select_from(waiting.subquery())) or 0


async def position_at(session: AsyncSession, since: datetime) -> int:
    """Return the id of the last event before a time; 0 if there is none."""
    return await session.scalar(select(func.max(EventRow.id)).where(EventRow.at < since)) or 0


async def lose(session: AsyncSession, deleted: ColumnElement[bool], last: int) -> None:
    """Count the events that receivers miss because they are about to be deleted: those of `deleted` up to the id
    `last`. An event says so once, until an operator lets the receiver go on."""
    rows = await session.scalars(select(WebhookRow).where(WebhookRow.position < last))
    for row in list(rows):
        unsent = select(func.count()).select_from(EventRow)
        unsent = unsent.where(deleted, EventRow.id > row.position, EventRow.id <= last, *row.which.conditions())
        if not (count := await session.scalar(unsent) or 0):
            continue
        if not row.missed:
            text = f"webhook {row.name} misses events: they were deleted before its receiver has taken them"
            await events.add(session, "webhook-missed", row.name, text)
        row.missed += count
