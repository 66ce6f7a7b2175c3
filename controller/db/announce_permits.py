"""Announce permits of VMs, and the VMs whose permits the intent has yet to take over."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import JSON, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.intent import AnnouncePermit
from controller.core.persistent_map import changed
from controller.db.base import NAME, NUMBER, Base


class AnnouncePermitRow(Base):
    """The announce permit of one VM, as the intent has it."""

    __tablename__ = "berths"

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    macs: Mapped[list[str]] = mapped_column(JSON)
    endpoints: Mapped[list[str]] = mapped_column(JSON)
    kept: Mapped[list[str]] = mapped_column(JSON)


class DueRow(Base):
    """A note that a VM's permit has changed. It is written with every change of where the VM may be or what it is known
    by, and removed when the intent has the permit. A VM may have several notes: removing those that were read removes
    no later one."""

    __tablename__ = "berths_due"

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    vm: Mapped[str] = mapped_column(NAME)


async def load(session: AsyncSession) -> dict[str, AnnouncePermit]:
    """Return all announce permits."""
    return _permits(
        await session.execute(
            select(AnnouncePermitRow.name, AnnouncePermitRow.macs, AnnouncePermitRow.endpoints, AnnouncePermitRow.kept)
        )
    )


async def some(session: AsyncSession, names: list[str]) -> dict[str, AnnouncePermit]:
    """Return the announce permits of these VMs."""
    query = select(
        AnnouncePermitRow.name, AnnouncePermitRow.macs, AnnouncePermitRow.endpoints, AnnouncePermitRow.kept
    ).where(AnnouncePermitRow.name.in_(names))
    return _permits(await session.execute(query))


async def save(session: AsyncSession, old: Mapping[str, AnnouncePermit], new: Mapping[str, AnnouncePermit]) -> None:
    """Write the permits that differ."""
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
    """Note that the intent must take over the announce permit of that VM."""
    await session.execute(insert(DueRow).values(vm=vm))


async def due(session: AsyncSession, limit: int) -> list[DueRow]:
    """Return up to `limit` notes, the oldest first."""
    return list(await session.scalars(select(DueRow).order_by(DueRow.id).limit(limit)))


async def any_due(session: AsyncSession) -> bool:
    """Return whether there are notes."""
    return bool(await session.scalar(select(func.count()).select_from(select(DueRow.id).limit(1).subquery())))


async def told(session: AsyncSession, ids: list[int]) -> None:
    """Remove these notes, which the intent has taken over."""
    await session.execute(delete(DueRow).where(DueRow.id.in_(ids)))


def _permits(rows: Any) -> dict[str, AnnouncePermit]:
    return {
        row.name: AnnouncePermit(row.name, tuple(row.macs), frozenset(row.endpoints), tuple(row.kept)) for row in rows
    }
