"""Texts that operators have applied, such as policies: all are kept, and the latest that was not withdrawn is in
force."""

import re
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import JSON, Select, String, Text, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NUMBER, Base, Time

_ROLLBACK = re.compile(r"rollback to revision (\d+)")


def rollback_note(revision: int) -> str:
    """Return the note in the history for a text that brings an earlier revision back; `previous` reads it."""
    return f"rollback to revision {revision}"


class AppliedText(Base):
    """One row per applied text, with the generation it led to. `summary` is its plan; `note` gives the reason for
    applying it where that is not obvious. `applied_by` is None for texts from before this was recorded. A text is
    withdrawn when its change is rolled back."""

    __abstract__ = True
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
        """The text's number among all that were applied."""
        return self.id

    @property
    def created_at(self) -> datetime:
        """The time at which it was applied."""
        return self.applied_at


R = TypeVar("R", bound=AppliedText)


class AppliedTexts(Generic[R]):
    """The texts of one kind, in one table."""

    def __init__(self, table: type[R]) -> None:
        self._table = table

    def _in_force(self) -> Select[Any]:
        return select(self._table).where(self._table.withdrawn_at.is_(None)).order_by(self._table.id.desc()).limit(1)

    async def latest(self, session: AsyncSession) -> R | None:
        """Return the text in force."""
        row: R | None = await session.scalar(self._in_force())
        return row

    async def before(self, session: AsyncSession, revision: int) -> R | None:
        """Return the text that was in force before that one, or would have been."""
        row: R | None = await session.scalar(self._in_force().where(self._table.id < revision))
        return row

    async def before_change(self, session: AsyncSession, generation: int) -> R | None:
        """Return the text that would be in force without a change."""
        row: R | None = await session.scalar(self._in_force().where(self._table.generation != generation))
        return row

    async def previous(self, session: AsyncSession, row: R) -> R | None:
        """Return the text that a rollback from `row` brings back by default: the latest one before it with another
        text. A text that brought an earlier revision back counts as that revision, so that repeated rollbacks never
        return to a text that was rolled back."""
        table = self._table
        query = select(table.id, table.note, table.text == row.text).where(table.withdrawn_at.is_(None))
        at = row.id
        for number, note, same in await session.execute(query.where(table.id <= row.id).order_by(table.id.desc())):
            if number <= at and not same:
                return await self.get(session, number)
            if number <= at and (found := _ROLLBACK.fullmatch(note)):
                at = int(found[1])
        return None

    async def get(self, session: AsyncSession, revision: int) -> R | None:
        """Return one of the texts that were applied."""
        return await session.get(self._table, revision, populate_existing=True)

    async def page(self, session: AsyncSession, before: int | None, limit: int) -> list[R]:
        """Return up to `limit` texts below `before`, the latest first."""
        chosen = select(self._table).order_by(self._table.id.desc()).limit(limit)
        return list(await session.scalars(chosen if before is None else chosen.where(self._table.id < before)))

    async def add(self, session: AsyncSession, row: R, by: str) -> R:
        """Record a text with the change it makes, and the caller who applied it."""
        row.applied_by, row.note = by[:200], (row.note or "")[:200]
        session.add(row)
        await session.flush()
        return row

    async def withdraw(self, session: AsyncSession, generation: int) -> None:
        """Withdraw the text of a change that is rolled back: the text before it is in force again."""
        table = self._table
        await session.execute(update(table).where(table.generation == generation).values(withdrawn_at=now()))
