"""Answers to requests that carried an Idempotency-Key, kept for a day so that a repetition gets the same one."""

from datetime import datetime, timedelta

from sqlalchemy import LargeBinary, String, delete, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import Base, Time, now

KEPT = timedelta(days=1)


class IdempotencyRow(Base):
    """`key` is a digest of the caller's key, `request` of method, path and body. `status` is None while the first
    request is under way."""

    __tablename__ = "idempotency"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    request: Mapped[str] = mapped_column(String(64))
    status: Mapped[int | None]
    etag: Mapped[str | None] = mapped_column(String(100))
    media_type: Mapped[str | None] = mapped_column(String(100))
    body: Mapped[bytes | None] = mapped_column(LargeBinary)
    at: Mapped[datetime] = mapped_column(Time, default=now, index=True)


async def get(session: AsyncSession, key: str) -> IdempotencyRow | None:
    """The answer kept under a key."""
    return await session.get(IdempotencyRow, key, populate_existing=True)


def begin(session: AsyncSession, key: str, request: str) -> None:
    """Claims a key."""
    session.add(IdempotencyRow(key=key, request=request))


async def finish(
    session: AsyncSession, key: str, status: int, etag: str | None, media_type: str | None, body: bytes
) -> None:
    """Keeps the answer."""
    answer = {"status": status, "etag": etag, "media_type": media_type, "body": body}
    await session.execute(update(IdempotencyRow).where(IdempotencyRow.key == key).values(**answer))


async def forget(session: AsyncSession, key: str) -> None:
    """Frees a key, so that the request can be tried again."""
    await session.execute(delete(IdempotencyRow).where(IdempotencyRow.key == key))


async def forget_unfinished(session: AsyncSession) -> None:
    """Frees the keys of requests that were under way when the controller died."""
    await session.execute(delete(IdempotencyRow).where(IdempotencyRow.status.is_(None)))


async def prune(session: AsyncSession) -> None:
    """Forgets answers older than KEPT."""
    await session.execute(delete(IdempotencyRow).where(IdempotencyRow.at < now() - KEPT))
