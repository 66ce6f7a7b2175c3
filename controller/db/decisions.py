"""Decisions: the facts and the prediction when a VM was to follow its device, and the outcome."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, String, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, aliased, mapped_column

from controller.core.clock import now
from controller.core.follow_policy import Course
from controller.db.base import NAME, NUMBER, Base, Time
from controller.db.requested_moves import standing
from controller.db.sightings import SightingRow
from controller.db.vms import VmRow

KEPT = 20_000
"""How many of the latest decisions are kept."""


class DecisionRow(Base):
    """`source` and `destination` are endpoints. `course` and `reasons` are the decision and its reasons (`core.moves`),
    made on a `prospect` that `estimate` is part of. `move` is the move that came of it."""

    __tablename__ = "decisions"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    vm: Mapped[str] = mapped_column(NAME, index=True)
    device: Mapped[str] = mapped_column(NAME)
    source: Mapped[str] = mapped_column(NAME)
    destination: Mapped[str] = mapped_column(NAME)
    course: Mapped[str] = mapped_column(String(16))
    reasons: Mapped[list[str]] = mapped_column(JSON)
    prospect: Mapped[dict[str, Any]] = mapped_column(JSON)
    estimate: Mapped[dict[str, Any]] = mapped_column(JSON)
    move: Mapped[str | None] = mapped_column(NAME, index=True)
    at: Mapped[datetime] = mapped_column(Time, default=now)


async def carried_out(session: AsyncSession, number: int, move: str) -> None:
    """Record the move that came of the decision of that id."""
    await session.execute(update(DecisionRow).where(DecisionRow.id == number).values(move=move))


async def of_move(session: AsyncSession, move: str) -> DecisionRow | None:
    """Return the decision that led to a move."""
    query = select(DecisionRow).where(DecisionRow.move == move).order_by(DecisionRow.id.desc()).limit(1)
    row: DecisionRow | None = await session.scalar(query)
    return row


async def apart(session: AsyncSession) -> list[tuple[str, str, DecisionRow | None]]:
    """Return devices whose VM runs at another LAN than the one where they are taken to be, unless a move that stands is
    the reason; with each, that LAN, and the last decision on the VM's move there."""
    one = aliased(DecisionRow)
    latest = select(func.max(one.id)).where(one.vm == VmRow.name, one.destination == SightingRow.endpoint)
    query = select(VmRow.device, SightingRow.endpoint, DecisionRow).join(
        SightingRow, SightingRow.device == VmRow.device
    )
    query = query.join(DecisionRow, DecisionRow.id == latest.scalar_subquery(), isouter=True)
    query = query.where(SightingRow.endpoint != VmRow.endpoint, VmRow.condition == "running")
    query = query.where(~standing().correlate(VmRow, SightingRow)).order_by(VmRow.name)
    return [(device, lan, row) for device, lan, row in await session.execute(query) if lan is not None]


async def waiting(session: AsyncSession) -> list[int]:
    """Return the ids of decisions that a new VM is better, while the VM is away from its device and none has
    started."""
    rows = [row for _, _, row in await apart(session) if row is not None]
    return [row.id for row in rows if row.course == Course.SYNTHESISE and row.move is None]


async def page(
    session: AsyncSession,
    before: int,
    limit: int,
    vm: str | None = None,
    move: str | None = None,
    course: str | None = None,
    only: Collection[int] | None = None,
) -> list[DecisionRow]:
    """Return up to `limit` decisions, the latest first, that were made before the one of that id (0: the latest ones).
    `only`: of these."""
    query = select(DecisionRow).order_by(DecisionRow.id.desc()).limit(limit)
    if before:
        query = query.where(DecisionRow.id < before)
    for column, value in ((DecisionRow.vm, vm), (DecisionRow.move, move), (DecisionRow.course, course)):
        if value is not None:
            query = query.where(column == value)
    if only is not None:
        query = query.where(DecisionRow.id.in_(only))
    return list(await session.scalars(query))


async def prune(session: AsyncSession) -> None:
    """Delete decisions older than the latest KEPT."""
    latest = await session.scalar(select(func.max(DecisionRow.id))) or 0
    await session.execute(delete(DecisionRow).where(DecisionRow.id <= latest - KEPT))
