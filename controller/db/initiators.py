"""Cloudlets whose agents can start VMs anew (`controller/wire/initiations.py`), by their last reports."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import JSON, delete
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import NAME, Base


class InitiatorRow(Base):
    """`drivers` are the names of the drivers that are set up at the cloudlet."""

    __tablename__ = "initiators"

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    drivers: Mapped[list[Any]] = mapped_column(JSON)


async def tell(session: AsyncSession, cloudlet: str, drivers: Sequence[str]) -> None:
    """Store an agent's report."""
    row = await session.get(InitiatorRow, cloudlet)
    if row is None:
        session.add(InitiatorRow(cloudlet=cloudlet, drivers=list(drivers)))
    else:
        row.drivers = list(drivers)


async def of(session: AsyncSession, cloudlet: str) -> frozenset[str] | None:
    """Return the drivers at a cloudlet; None if its agent has not reported that it can start VMs anew."""
    row = await session.get(InitiatorRow, cloudlet)
    return frozenset(row.drivers) if row is not None else None


async def forget(session: AsyncSession, gone: Collection[str]) -> None:
    """Remove the reports of cloudlets that are gone, or whose agents cannot start VMs anew any more."""
    await session.execute(delete(InitiatorRow).where(InitiatorRow.cloudlet.in_(gone)))
