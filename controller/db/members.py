"""Memberships of endpoints in VCPs."""

from collections.abc import Iterable

from sqlalchemy import ForeignKey, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.base import NAME, NUMBER, Base


class MemberRow(Base):
    """One row per endpoint and VCP. `generation` is that of the change that made the membership."""

    __tablename__ = "members"

    vcp: Mapped[str] = mapped_column(NAME, ForeignKey("vcps.name"), primary_key=True)
    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name"), primary_key=True, index=True)
    generation: Mapped[int] = mapped_column(NUMBER)


async def get(session: AsyncSession, vcp: str, endpoint: str) -> MemberRow | None:
    """Return the membership of an endpoint in a VCP."""
    return await session.get(MemberRow, (vcp, endpoint), populate_existing=True)


async def of(session: AsyncSession, vcps: Iterable[str]) -> dict[str, list[str]]:
    """Return the members of each of the VCPs, sorted."""
    names = list(vcps)
    rows = await session.execute(
        select(MemberRow.vcp, MemberRow.endpoint).where(MemberRow.vcp.in_(names)).order_by(MemberRow.endpoint)
    )
    found: dict[str, list[str]] = {name: [] for name in names}
    for vcp, endpoint in rows:
        found[vcp].append(endpoint)
    return found
