"""The audit log: rows are added, and never changed or removed."""

from collections.abc import AsyncIterator
from datetime import datetime

from sqlalchemy import String, Text, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.audit import ORIGIN, AuditEntry, seal
from controller.core.clock import now
from controller.db.base import NUMBER, Base, Time
from controller.db.engine import Lock, alone

BATCH = 1000
"""Most rows in memory at a time."""


class AuditRow(Base):
    """An entry and its seal (`core.audit`). Numbers are without gaps."""

    __tablename__ = "audit"

    number: Mapped[int] = mapped_column(NUMBER, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Time)
    who: Mapped[str] = mapped_column(String(100), index=True)
    method: Mapped[str] = mapped_column(String(20))
    path: Mapped[str] = mapped_column(String(1000))
    status: Mapped[int]
    details: Mapped[str] = mapped_column(Text)
    seal: Mapped[str] = mapped_column(String(64))

    @property
    def entry(self) -> AuditEntry:
        """The entry without its seal."""
        return AuditEntry(self.number, self.at, self.who, self.method, self.path, self.status, self.details)


async def add(session: AsyncSession, who: str, method: str, path: str, status: int, details: str) -> None:
    """Add an entry at the end, within the transaction it belongs to. Entries wait for each other: two entries after the
    same one would be a fork."""
    await alone(session, Lock.AUDIT)
    query = select(AuditRow.number, AuditRow.seal).order_by(AuditRow.number.desc()).limit(1)
    head = (await session.execute(query)).first()
    number, before = (head.number, head.seal) if head else (0, ORIGIN)
    entry = AuditEntry(number + 1, now(), who[:100], method[:20], path[:1000], status, details)
    session.add(AuditRow(**vars(entry), seal=seal(before, entry)))


async def page(
    session: AsyncSession,
    below: int | None,
    limit: int,
    who: str | None = None,
    method: str | None = None,
    under: str | None = None,
    status: int | None = None,
) -> list[AuditRow]:
    """Return up to `limit` entries, the latest first, with numbers below `below` and these properties; `under` is the
    beginning of their paths."""
    query = select(AuditRow).order_by(AuditRow.number.desc()).limit(limit)
    if below is not None:
        query = query.where(AuditRow.number < below)
    for column, wanted in ((AuditRow.who, who), (AuditRow.method, method), (AuditRow.status, status)):
        if wanted is not None:
            query = query.where(column == wanted)
    if under is not None:
        query = query.where(AuditRow.path.startswith(under, autoescape=True))
    return list(await session.scalars(query))


async def since(session: AsyncSession, who: str, method: str, at: datetime) -> bool:
    """Return whether there is such an entry after that time."""
    query = select(AuditRow.number).where(AuditRow.who == who, AuditRow.method == method, AuditRow.at > at).limit(1)
    return await session.scalar(query) is not None


async def walk(session: AsyncSession) -> AsyncIterator[AuditRow]:
    """Yield all entries, the first one first."""
    last = -(2**63)
    while True:
        query = select(AuditRow).where(AuditRow.number > last).order_by(AuditRow.number).limit(BATCH)
        rows = list(await session.scalars(query))
        for row in rows:
            yield row
        if len(rows) < BATCH:
            return
        last = rows[-1].number
        session.expunge_all()
