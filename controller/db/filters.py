"""The access rules that cloudlets filter by, and their counters, from the last reports of their agents."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import ForeignKey, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, Base, Time
from controller.wire.access import AccessReport


class FilterRow(Base):
    """The last report of a cloudlet's agent (JSON)."""

    __tablename__ = "filters"

    cloudlet: Mapped[str] = mapped_column(NAME, ForeignKey("cloudlets.name", ondelete="CASCADE"), primary_key=True)
    report: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(Time)


async def save(session: AsyncSession, report: AccessReport) -> None:
    """Replace the last report of the cloudlet's agent."""
    await session.execute(delete(FilterRow).where(FilterRow.cloudlet == report.cloudlet))
    await session.execute(insert(FilterRow).values(cloudlet=report.cloudlet, report=report.model_dump_json(), at=now()))


async def load(session: AsyncSession, cloudlets: Iterable[str]) -> dict[str, tuple[AccessReport, datetime]]:
    """Return the last reports of these cloudlets, and when they came."""
    query = select(FilterRow).where(FilterRow.cloudlet.in_(list(cloudlets)))
    return {
        row.cloudlet: (AccessReport.model_validate_json(row.report), row.at) for row in await session.scalars(query)
    }
