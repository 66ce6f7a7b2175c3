"""Announce permits of VMs, and the VMs of whose permits the intent is still to be told."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import JSON, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.intent import AnnouncePermit
from controller.core.persistent_map import changed
from controller.db.base import NAME, NUMBER, Base


class AnnouncePermitRow(Base):
    """One VM's, as the intent has it."""

    __tablename__ = "berths"

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    macs: Mapped[list[str]] = mapped_column(JSON)
    endpoints: Mapped[list[str]] = mapped_column(JSON)
    kept: Mapped[list[str]] = mapped_column(JSON)


class DueRow(Base):
    """Written with whatever changes where a VM may be, or what it is known by; gone when the intent has it. A VM may be
    there several times: who takes away what he has seen takes away nothing that came after."""

    __tablename__ = "berths_due"

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    vm: Mapped[str] = mapped_column(NAME)


async def load(session: AsyncSession) -> dict[str, AnnouncePermit]:
    """All announce permits."""
    return _permits(
        await session.execute(
            select(AnnouncePermitRow.name, AnnouncePermitRow.macs, AnnouncePermitRow.endpoints, AnnouncePermitRow.kept)
        )
    )


async def some(session: AsyncSession, names: list[str]) -> dict[str, AnnouncePermit]:
    """The announce permits of these VMs."""
    query = select(
        AnnouncePermitRow.name, AnnouncePermitRow.macs, AnnouncePermitRow.endpoints, AnnouncePermitRow.kept
    ).where(AnnouncePermitRow.name.in_(names))
    return _permits(await session.execute(query))


async def save(session: AsyncSession, old: Mapping[str, AnnouncePermit], new: Mapping[str, AnnouncePermit]) -> None:
    """Writes what differs."""
    if names := changed(old, new):
        await session.execute(delete(AnnouncePermitRow).where(AnnouncePermitRow.name.in_(names)))
        there = (new[name] for name in sorted(names) if name in new)
        rows = [
            {"name": b.name, "macs": list(b.macs), "endpoints": sorted(b.endpoints), "kept": list(b.kept)}
            for b in there
        ]
        if rows:
            await session.execute(insert(AnnouncePermitRow), rows)


async def note(session: AsyncSession, vm: str) -> None:
    """The intent is to be told of that VM's announce permit."""
    await session.execute(insert(DueRow).values(vm=vm))


async def due(session: AsyncSession, limit: int) -> list[DueRow]:
    """Up to `limit` of what is noted, the oldest first."""
    return list(await session.scalars(select(DueRow).order_by(DueRow.id).limit(limit)))


async def any_due(session: AsyncSession) -> bool:
    """Whether anything is noted."""
    return bool(await session.scalar(select(func.count()).select_from(select(DueRow.id).limit(1).subquery())))


async def told(session: AsyncSession, ids: list[int]) -> None:
    """The intent has what was noted with these numbers."""
    await session.execute(delete(DueRow).where(DueRow.id.in_(ids)))


def _permits(rows: Any) -> dict[str, AnnouncePermit]:
    return {
        row.name: AnnouncePermit(row.name, tuple(row.macs), frozenset(row.endpoints), tuple(row.kept)) for row in rows
    }
