"""Route servers that were found ahead of the database. The database is then an old copy, which would give back access
that was taken away since."""

from collections.abc import Mapping

from sqlalchemy import BigInteger, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import NAME, Base


class ClaimRow(Base):
    """`generation` is the generation that the route server had."""

    __tablename__ = "claims"

    route_server: Mapped[str] = mapped_column(NAME, primary_key=True)
    generation: Mapped[int] = mapped_column(BigInteger)


async def load(session: AsyncSession) -> dict[str, int]:
    """Return the generations by route server."""
    return {row.route_server: row.generation for row in await session.scalars(select(ClaimRow))}


async def save(session: AsyncSession, claims: Mapping[str, int]) -> None:
    """Store these claims, and remove all others."""
    await session.execute(delete(ClaimRow))
    session.add_all(ClaimRow(route_server=name, generation=number) for name, number in claims.items())
