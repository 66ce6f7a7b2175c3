"""Revisions of the intent: one row for each edit, with the names it touched, so that controllers that share a database
take over each other's edits. There are more revisions than generations: not every edit concerns route servers or
agents."""

from sqlalchemy import JSON, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core import changed_names as core
from controller.core.changed_names import ChangedNames
from controller.db.base import NUMBER, Base

KEPT = 1000
"""How many of the latest rows are kept: a controller that is further behind reads everything."""


class RevisionRow(Base):
    """`touched` is None if everything may be touched."""

    __tablename__ = "revisions"

    number: Mapped[int] = mapped_column(NUMBER, primary_key=True, autoincrement=False)
    touched: Mapped[dict[str, list[str]] | None] = mapped_column(JSON(none_as_null=True))


async def latest(session: AsyncSession) -> int:
    """Return the latest revision's number; 0 before the first."""
    return await session.scalar(select(func.max(RevisionRow.number))) or 0


def add(session: AsyncSession, number: int, touched: ChangedNames | None) -> None:
    """Record an edit with the transaction that makes it."""
    session.add(RevisionRow(number=number, touched=None if touched is None else core.document(touched)))


async def since(session: AsyncSession, number: int) -> tuple[int, ChangedNames | None]:
    """Return the latest revision, and the names touched after the one of that number. These are None if they are not
    known, because that revision is too old, or the database is an older copy than the caller has seen."""
    query = select(RevisionRow).where(RevisionRow.number >= number).order_by(RevisionRow.number)
    rows = list(await session.scalars(query))
    if not rows:
        return await latest(session), ChangedNames() if number == 0 else None
    if [row.number for row in rows if row.number > 0] != list(range(max(number, 1), rows[-1].number + 1)):
        return rows[-1].number, None
    touched = ChangedNames()
    for row in rows:
        if row.number > number:
            if row.touched is None:
                return rows[-1].number, None
            touched |= core.of_document(row.touched)
    return rows[-1].number, touched if len(touched) <= core.MOST else None


async def prune(session: AsyncSession) -> None:
    """Delete revisions older than the latest KEPT."""
    await session.execute(delete(RevisionRow).where(RevisionRow.number <= await latest(session) - KEPT))
