"""Policies that were applied: all are kept, and the latest that was not withdrawn is in force."""

import re
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, String, Text, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NUMBER, Base, Time

_ROLLBACK = re.compile(r"rollback to revision (\d+)")


class PolicyRow(Base):
    """One row per applied policy, with the generation it led to. `summary` is its plan; `note` gives the reason for
    applying it where that is not obvious. `applied_by` is None for policies from before this was recorded. A policy is
    withdrawn when its change is rolled back."""

    __tablename__ = "policies"
    id: Mapped[int] = mapped_column(primary_key=True)
    filename: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    generation: Mapped[int] = mapped_column(NUMBER)
    applied_at: Mapped[datetime] = mapped_column(Time, default=now)
    applied_by: Mapped[str | None] = mapped_column(String(200))
    note: Mapped[str] = mapped_column(String(200), default="")
    summary: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    withdrawn_at: Mapped[datetime | None] = mapped_column(Time)

    @property
    def revision(self) -> int:
        """The policy's number among all that were applied."""
        return self.id

    @property
    def created_at(self) -> datetime:
        """The time at which it was applied."""
        return self.applied_at


_in_force = select(PolicyRow).where(PolicyRow.withdrawn_at.is_(None)).order_by(PolicyRow.id.desc())


async def latest(session: AsyncSession) -> PolicyRow | None:
    """Return the policy in force."""
    row: PolicyRow | None = await session.scalar(_in_force.limit(1))
    return row


async def before(session: AsyncSession, revision: int) -> PolicyRow | None:
    """Return the policy that was in force before that one, or would have been."""
    row: PolicyRow | None = await session.scalar(_in_force.where(PolicyRow.id < revision).limit(1))
    return row


def rollback_note(revision: int) -> str:
    """Return the note in the history for a policy that brings an earlier revision back; `previous` reads it."""
    return f"rollback to revision {revision}"


async def previous(session: AsyncSession, row: PolicyRow) -> PolicyRow | None:
    """Return the policy that a rollback from `row` brings back by default: the latest one before it with another text.
    A policy that brought an earlier revision back counts as that revision, so that repeated rollbacks never return to a
    policy that was rolled back."""
    columns = PolicyRow.id, PolicyRow.note, PolicyRow.text == row.text
    query = select(*columns).where(PolicyRow.withdrawn_at.is_(None), PolicyRow.id <= row.id)
    at = row.id
    for number, note, same in await session.execute(query.order_by(PolicyRow.id.desc())):
        if number <= at and not same:
            return await get(session, number)
        if number <= at and (found := _ROLLBACK.fullmatch(note)):
            at = int(found[1])
    return None


async def before_change(session: AsyncSession, generation: int) -> PolicyRow | None:
    """Return the policy that would be in force without a change."""
    row: PolicyRow | None = await session.scalar(_in_force.where(PolicyRow.generation != generation).limit(1))
    return row


async def get(session: AsyncSession, revision: int) -> PolicyRow | None:
    """Return one of the policies that were applied."""
    return await session.get(PolicyRow, revision, populate_existing=True)


async def page(session: AsyncSession, before: int | None, limit: int) -> list[PolicyRow]:
    """Return up to `limit` policies below `before`, the latest first."""
    chosen = select(PolicyRow).order_by(PolicyRow.id.desc()).limit(limit)
    return list(await session.scalars(chosen if before is None else chosen.where(PolicyRow.id < before)))


async def add(
    session: AsyncSession,
    filename: str,
    text: str,
    generation: int,
    *,
    by: str,
    note: str = "",
    summary: dict[str, Any],
) -> PolicyRow:
    """Record a policy with the change it makes, and the caller who applied it."""
    row = PolicyRow(filename=filename, text=text, generation=generation, summary=summary)
    row.applied_by, row.note = by[:200], note[:200]
    session.add(row)
    await session.flush()
    return row


async def withdraw(session: AsyncSession, generation: int) -> None:
    """Withdraw the policy of a change that is rolled back: the policy before it is in force again."""
    await session.execute(update(PolicyRow).where(PolicyRow.generation == generation).values(withdrawn_at=now()))
