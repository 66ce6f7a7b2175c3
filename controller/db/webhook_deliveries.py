"""Attempts to send events to receivers of webhooks; the latest ones of each receiver are kept."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, String, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import NAME, NUMBER, Base, Time

KEPT = 1_000
"""How many of the latest attempts of each receiver are kept."""


class WebhookDeliveryRow(Base):
    """The attempt number `attempt` to send an event of a `type` to a receiver: the answer's `status`, None without an
    answer, after so many milliseconds; `reason` says why it failed, and is empty if it did not."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index("webhook_deliveries_by_webhook", "webhook", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    webhook: Mapped[str] = mapped_column(NAME)
    event: Mapped[int] = mapped_column(NUMBER)
    type: Mapped[str] = mapped_column(String(40))
    at: Mapped[datetime] = mapped_column(Time)
    attempt: Mapped[int]
    status: Mapped[int | None]
    milliseconds: Mapped[int]
    reason: Mapped[str] = mapped_column(String(300))


async def add(session: AsyncSession, attempts: list[dict[str, Any]]) -> None:
    """Add attempts, each with all columns but `id`."""
    if attempts:
        await session.execute(insert(WebhookDeliveryRow), attempts)


async def newest(session: AsyncSession, webhook: str, before: int | None, limit: int) -> list[WebhookDeliveryRow]:
    """Return up to `limit` attempts, the latest first; those before the one with that id, if there is one."""
    row = WebhookDeliveryRow
    query = select(row).where(row.webhook == webhook).order_by(row.id.desc()).limit(limit)
    return list(await session.scalars(query if before is None else query.where(row.id < before)))


async def forget(session: AsyncSession, webhook: str) -> None:
    """Delete all attempts of a receiver."""
    await session.execute(delete(WebhookDeliveryRow).where(WebhookDeliveryRow.webhook == webhook))


async def prune(session: AsyncSession) -> None:
    """Delete the attempts of each receiver that are older than its latest KEPT."""
    row = WebhookDeliveryRow
    for webhook in list(await session.scalars(select(row.webhook).distinct())):
        oldest = select(row.id).where(row.webhook == webhook).order_by(row.id.desc()).offset(KEPT).limit(1)
        if (last := await session.scalar(oldest)) is not None:
            await session.execute(delete(row).where(row.webhook == webhook, row.id <= last))
