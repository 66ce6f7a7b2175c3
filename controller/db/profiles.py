"""Profiles: the measurements of past moves of each kind of machine (Teka, section V), shared by all cloudlets."""

from datetime import datetime

from sqlalchemy import BigInteger, and_, delete, false, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.profiles import ENOUGH
from controller.db.base import NAME, NUMBER, Base, Time

KEPT = 50_000
"""How many of the latest moves are kept."""


class ProfileRow(Base):
    """One finished move of a machine of this image, between two cloudlets: the prediction and the measurements. Units
    are bytes, seconds, milliseconds, bits a second (bandwidth) and bytes a second (dirty_rate). `wire` is all bytes on
    the wire, `disk` those of them that were the disk's, `ratio` the bytes on the wire for each byte of memory;
    `model_seconds` is the prediction before history corrected it, None if it started from guesses. `kept`: both ends
    had a copy of the VM's memory, of an earlier stay; `direct`: it went without a thin line."""

    __tablename__ = "profiles"

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    move: Mapped[str] = mapped_column(NAME, unique=True)
    vm: Mapped[str] = mapped_column(NAME, index=True)
    image: Mapped[str] = mapped_column(NAME, index=True)
    source: Mapped[str] = mapped_column(NAME)
    destination: Mapped[str] = mapped_column(NAME)
    memory: Mapped[int] = mapped_column(BigInteger)
    memory_used: Mapped[int | None] = mapped_column(BigInteger)
    dirty_rate: Mapped[float | None]
    bandwidth: Mapped[float | None]
    rtt_before_ms: Mapped[float | None]
    rtt_during_ms: Mapped[float | None]
    predicted_seconds: Mapped[float | None]
    model_seconds: Mapped[float | None]
    seconds: Mapped[float]
    paused_ms: Mapped[float | None]
    wire: Mapped[int | None] = mapped_column(BigInteger)
    disk: Mapped[int | None] = mapped_column(BigInteger)
    ratio: Mapped[float | None]
    kept: Mapped[bool] = mapped_column(server_default=false(), default=False)
    direct: Mapped[bool] = mapped_column(server_default=false(), default=False)
    at: Mapped[datetime] = mapped_column(Time, default=now, index=True)


async def add(session: AsyncSession, row: ProfileRow) -> bool:
    """Store a move's profile; return False if it is there already."""
    if await session.scalar(select(ProfileRow.id).where(ProfileRow.move == row.move)) is not None:
        return False
    session.add(row)
    await session.flush()
    return True


async def history(
    session: AsyncSession, vm: str, image: str, link: tuple[str, str], limit: int = ENOUGH
) -> list[ProfileRow]:
    """Return the latest moves of the VM, of its image, and over the link, up to `limit` of each; the latest first."""
    found: dict[int, ProfileRow] = {}
    over = and_(ProfileRow.source == link[0], ProfileRow.destination == link[1])
    for which in (ProfileRow.vm == vm, ProfileRow.image == image, over):
        rows = await session.scalars(select(ProfileRow).where(which).order_by(ProfileRow.id.desc()).limit(limit))
        found |= {row.id: row for row in rows}
    return [found[number] for number in sorted(found, reverse=True)]


async def came_from(session: AsyncSession, vm: str, between: tuple[str, str], since: datetime) -> bool:
    """Return whether the VM's latest move was the way back, to the first cloudlet from the second, and ended since
    then."""
    latest = await session.scalar(select(ProfileRow).where(ProfileRow.vm == vm).order_by(ProfileRow.id.desc()).limit(1))
    return latest is not None and (latest.destination, latest.source) == between and latest.at > since


async def page(
    session: AsyncSession,
    before: int,
    limit: int,
    vm: str | None = None,
    image: str | None = None,
    cloudlet: str | None = None,
) -> list[ProfileRow]:
    """Return up to `limit` profiles before the one of that id (0: the latest ones), the latest first. `cloudlet`: only
    moves from or to it."""
    query = select(ProfileRow).order_by(ProfileRow.id.desc()).limit(limit)
    if before:
        query = query.where(ProfileRow.id < before)
    if cloudlet is not None:
        query = query.where(or_(ProfileRow.source == cloudlet, ProfileRow.destination == cloudlet))
    for column, value in ((ProfileRow.vm, vm), (ProfileRow.image, image)):
        if value is not None:
            query = query.where(column == value)
    return list(await session.scalars(query))


async def prune(session: AsyncSession) -> None:
    """Delete profiles older than the latest KEPT."""
    latest = await session.scalar(select(func.max(ProfileRow.id))) or 0
    await session.execute(delete(ProfileRow).where(ProfileRow.id <= latest - KEPT))
