"""Generations of the rule set: one row per change, so that no number is given twice."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, String, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.refusals import conflict, missing
from controller.core.trials import Trial, document, of_document
from controller.db.base import NUMBER, Base, Time

KEPT = 10_000
"""How many of the latest rows are kept."""


class ChangeState(StrEnum):
    """The outcome of a change. `made`: it was never on trial."""

    MADE = "made"
    ON_TRIAL = "on-trial"
    CONFIRMED = "confirmed"
    ROLLED_BACK = "rolled-back"


class GenerationRow(Base):
    """`cause` describes the change, for users. `fabric` stands for the AS number and the route servers with which
    desired states were made: a controller that starts with others makes a new generation. The other columns are for
    changes that were put on trial: `fallback` exists until the trial is settled."""

    __tablename__ = "generations"

    number: Mapped[int] = mapped_column(NUMBER, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(Time, default=now)
    cause: Mapped[str] = mapped_column(String(400))
    fabric: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16), default=ChangeState.MADE.value)
    confirm_by: Mapped[datetime | None] = mapped_column(Time)
    settled_at: Mapped[datetime | None] = mapped_column(Time)
    fallback: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


async def current(session: AsyncSession) -> GenerationRow | None:
    """Return the latest generation; None before the first."""
    row: GenerationRow | None = await session.scalar(
        select(GenerationRow).order_by(GenerationRow.number.desc()).limit(1)
    )
    return row


async def number(session: AsyncSession) -> int:
    """Return the latest generation's number; 0 before the first."""
    return await session.scalar(select(func.max(GenerationRow.number))) or 0


async def get(session: AsyncSession, number: int) -> GenerationRow | None:
    """Return one generation."""
    return await session.get(GenerationRow, number, populate_existing=True)


async def page(session: AsyncSession, before: int | None, limit: int) -> list[GenerationRow]:
    """Return up to `limit` generations below `before`, the latest first."""
    chosen = select(GenerationRow).order_by(GenerationRow.number.desc()).limit(limit)
    return list(await session.scalars(chosen if before is None else chosen.where(GenerationRow.number < before)))


def begin(row: GenerationRow, trial: Trial) -> None:
    """Put a generation on trial."""
    row.state, row.confirm_by, row.fallback = ChangeState.ON_TRIAL.value, trial.confirm_by, document(trial)


async def on_trial(session: AsyncSession) -> Trial | None:
    """Return the trial of the latest generation, None if it is not on trial."""
    row = await current(session)
    if row is None or row.state != ChangeState.ON_TRIAL or row.confirm_by is None or row.fallback is None:
        return None
    return of_document(row.number, row.confirm_by, row.fallback)


async def settle(session: AsyncSession, number: int, state: ChangeState) -> None:
    """End a trial. Raises Refused for a change that is not on trial, or no longer."""
    row = await get(session, number)
    if row is None:
        raise missing("change", str(number))
    settled = f" at {row.settled_at:%Y-%m-%dT%H:%M:%SZ}" if row.settled_at else ""
    match row.state:
        case ChangeState.ON_TRIAL:
            row.state, row.settled_at, row.fallback = state.value, now(), None
        case ChangeState.CONFIRMED:
            raise conflict(f"change {number} was confirmed already{settled}")
        case ChangeState.ROLLED_BACK:
            raise conflict(f"change {number} was rolled back{settled}; make it again")
        case _:
            raise conflict(f"change {number} was never on trial: it is permanent")


async def prune(session: AsyncSession) -> None:
    """Delete generations older than the latest KEPT."""
    await session.execute(delete(GenerationRow).where(GenerationRow.number <= await number(session) - KEPT))
