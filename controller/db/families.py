"""Families of pools that proximity makes."""

from collections.abc import Mapping

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.persistent_map import changed
from controller.db.base import NAME, Base


class FamilyRow(Base):
    """`last` is the greatest number that a pool of the family ever had; no pool gets it again."""

    __tablename__ = "families"

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    last: Mapped[int]


async def load(session: AsyncSession) -> dict[str, int]:
    """Return the greatest numbers by family."""
    return {row.name: row.last for row in await session.execute(select(FamilyRow.name, FamilyRow.last))}


async def save(session: AsyncSession, old: Mapping[str, int], new: Mapping[str, int]) -> None:
    """Write the families that differ."""
    if names := [name for name in changed(old, new) if old.get(name) != new.get(name)]:
        await session.execute(delete(FamilyRow).where(FamilyRow.name.in_(names)))
        rows = [{"name": name, "last": new[name]} for name in names if name in new]
        await session.execute(insert(FamilyRow), rows)
