"""Moves that are to begin at a time: those that users have scheduled, and the next ones of the policy's schedule."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from sqlalchemy import CheckConstraint, String, UniqueConstraint, and_, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, Base, Time

State = Literal["waiting", "begun", "refused", "missed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)

MOST_BEFORE = 86_400
"""Most seconds between a copy ahead and its move."""

POLICY = "policy"
"""The name in `asked_by` for moves of the policy's schedule."""


class ScheduledMoveRow(Base):
    """The VM is to move to `endpoint` at the time `at`, and to be copied there `copied_before` seconds earlier, as
    `copy_ahead`. `keep`: it keeps its address. `state`: `waiting` for its time, or while the VM cannot move yet
    (`detail` says why, and it was `tried`); `begun` as `move`; `refused`, as the VM could not move (`detail`);
    `missed`, as no controller ran; `cancelled`."""

    __tablename__ = "scheduled_moves"
    __table_args__ = (
        UniqueConstraint("vm", "endpoint", "at"),
        CheckConstraint(f"state IN {STATES}", name="state"),
    )

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    vm: Mapped[str] = mapped_column(NAME, index=True)
    endpoint: Mapped[str] = mapped_column(NAME)
    at: Mapped[datetime] = mapped_column(Time, index=True)
    keep: Mapped[bool] = mapped_column(default=False)
    copied_before: Mapped[int] = mapped_column(default=0)
    reason: Mapped[str] = mapped_column(String(200), default="")
    asked_by: Mapped[str] = mapped_column(NAME, default="")
    state: Mapped[str] = mapped_column(String(16), default="waiting")
    detail: Mapped[str] = mapped_column(String(1000), default="")
    tried: Mapped[bool] = mapped_column(default=False)
    move: Mapped[str | None] = mapped_column(NAME)
    copy_ahead: Mapped[str | None] = mapped_column(NAME)
    created_at: Mapped[datetime] = mapped_column(Time, default=now)

    def say(self, detail: str) -> None:
        self.detail = detail.replace("\0", "\ufffd")[:1000]


async def get(session: AsyncSession, name: str, *, lock: bool = False) -> ScheduledMoveRow | None:
    return await session.get(ScheduledMoveRow, name, populate_existing=True, with_for_update=lock or None)


async def count(session: AsyncSession) -> int:
    """Return how many wait."""
    query = select(func.count()).select_from(ScheduledMoveRow).where(ScheduledMoveRow.state == "waiting")
    return await session.scalar(query) or 0


async def due(session: AsyncSession, at: datetime) -> list[ScheduledMoveRow]:
    """Return those that wait whose time has come, or that of their copy ahead, the earliest first."""
    row = ScheduledMoveRow
    farthest = at + timedelta(seconds=MOST_BEFORE)
    copying = and_(row.copied_before > 0, row.copy_ahead.is_(None), row.at <= farthest)
    query = select(row).where(row.state == "waiting", or_(row.at <= at, copying)).order_by(row.at, row.name)
    found = await session.scalars(query)
    return [one for one in found if one.at - timedelta(seconds=one.copied_before) <= at]


async def coming(session: AsyncSession, asked_by: str, at: datetime) -> list[ScheduledMoveRow]:
    """Return those of one asker that wait for a later time."""
    row = ScheduledMoveRow
    return list(await session.scalars(select(row).where(row.state == "waiting", row.asked_by == asked_by, row.at > at)))


async def known(session: AsyncSession, keys: Collection[tuple[str, str, datetime]]) -> set[tuple[str, str, datetime]]:
    """Return those of the keys (VM, endpoint, time) that there are, in whatever state."""
    times = {at for _, _, at in keys}
    row = ScheduledMoveRow
    query = select(row.vm, row.endpoint, row.at).where(row.at.in_(times))
    return {(vm, endpoint, at) for vm, endpoint, at in await session.execute(query)} & set(keys)


async def page(
    session: AsyncSession,
    after: tuple[datetime, str] | None,
    limit: int,
    vm: str | None = None,
    states: Collection[str] = (),
) -> list[ScheduledMoveRow]:
    """Return up to `limit` after that one, in the order of their times."""
    row = ScheduledMoveRow
    query: Any = select(row).order_by(row.at, row.name).limit(limit)
    if after is not None:
        at, name = after
        query = query.where(or_(row.at > at, and_(row.at == at, row.name > name)))
    if vm is not None:
        query = query.where(row.vm == vm)
    return list(await session.scalars(query.where(row.state.in_(states)) if states else query))


async def prune(session: AsyncSession, before: datetime) -> None:
    """Delete those of a time before `before` that do not wait."""
    row = ScheduledMoveRow
    await session.execute(delete(row).where(row.at < before, row.state != "waiting"))
