"""Answers to requests that carried an Idempotency-Key, kept for a day so that a repeated request gets the same one."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Index, LargeBinary, String, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NUMBER, Base, Time

KEPT = timedelta(days=1)
MOST, MOST_BYTES = 10_000, 64 * 2**20
"""Most answers that are kept of one caller, the latest ones, and most bytes of them."""


class IdempotencyRow(Base):
    """`key` is a digest of the caller's key, `request` of method, path and body, `caller` of their name. `status` is
    None while the first request is under way at the replica `owner` (one run of its process); `generation` is that of
    the change that the request has made so far."""

    __tablename__ = "idempotency"
    __table_args__ = (Index("ix_idempotency_caller", "caller", "at"),)

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    request: Mapped[str] = mapped_column(String(64))
    caller: Mapped[str | None] = mapped_column(String(64))
    owner: Mapped[str | None] = mapped_column(String(32))
    generation: Mapped[int | None] = mapped_column(NUMBER)
    status: Mapped[int | None]
    etag: Mapped[str | None] = mapped_column(String(100))
    media_type: Mapped[str | None] = mapped_column(String(100))
    body: Mapped[bytes | None] = mapped_column(LargeBinary)
    at: Mapped[datetime] = mapped_column(Time, default=now, index=True)


async def get(session: AsyncSession, key: str) -> IdempotencyRow | None:
    """Return the answer kept under a key."""
    return await session.get(IdempotencyRow, key, populate_existing=True)


def begin(session: AsyncSession, key: str, request: str, owner: str, caller: str) -> None:
    """Claim a key."""
    session.add(IdempotencyRow(key=key, request=request, owner=owner, caller=caller))


async def take(session: AsyncSession, key: str, giver: str | None, taker: str) -> bool:
    """Take over a request from a replica that is gone. Returns False if another replica has taken it."""
    mine = update(IdempotencyRow).where(IdempotencyRow.key == key, IdempotencyRow.status.is_(None))
    mine = mine.where(IdempotencyRow.owner == giver if giver is not None else IdempotencyRow.owner.is_(None))
    return bool((await session.execute(mine.values(owner=taker))).rowcount)  # type: ignore[attr-defined]


async def made(session: AsyncSession, key: str, owner: str, generation: int) -> bool:
    """Record the change that a request makes. Returns False if the request is no longer the owner's."""
    row = update(IdempotencyRow).where(IdempotencyRow.key == key, IdempotencyRow.owner == owner)
    return bool((await session.execute(row.values(generation=generation))).rowcount)  # type: ignore[attr-defined]


async def finish(
    session: AsyncSession, key: str, status: int, etag: str | None, media_type: str | None, body: bytes
) -> None:
    """Store the answer."""
    answer = {"status": status, "etag": etag, "media_type": media_type, "body": body}
    await session.execute(update(IdempotencyRow).where(IdempotencyRow.key == key).values(**answer))


async def forget(session: AsyncSession, key: str) -> None:
    """Free a key, so that the request can be tried again. A change that the request has made stays recorded."""
    row = IdempotencyRow.key == key
    await session.execute(delete(IdempotencyRow).where(row, IdempotencyRow.generation.is_(None)))
    await session.execute(update(IdempotencyRow).where(row, IdempotencyRow.status.is_(None)).values(owner=None))


async def prune(session: AsyncSession) -> None:
    """Delete answers older than KEPT, and the oldest ones of each caller that has too many."""
    await session.execute(delete(IdempotencyRow).where(IdempotencyRow.at < now() - KEPT))
    await trim(session)


async def trim(session: AsyncSession, caller: str | None = None) -> None:
    """Delete the oldest answers beyond MOST and MOST_BYTES, of one caller or of each. Requests that are under way
    stay."""
    row = IdempotencyRow
    window: dict[str, Any] = {"partition_by": row.caller, "order_by": (row.at.desc(), row.key)}
    number = func.row_number().over(**window).label("number")
    size = func.sum(func.coalesce(func.length(row.body), 0)).over(**window).label("size")
    kept = select(row.key, number, size).where(row.status.is_not(None))
    counted = (kept if caller is None else kept.where(row.caller == caller)).subquery()
    much = select(counted.c.key).where(or_(counted.c.number > MOST, counted.c.size > MOST_BYTES))
    await session.execute(delete(row).where(row.key.in_(much)))
