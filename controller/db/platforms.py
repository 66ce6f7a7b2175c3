"""The platforms of VMs at each cloudlet, by driver, from the last report of its agent."""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, Text, cast, delete, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, Base, Time
from controller.wire.platforms import Platform


class PlatformRow(Base):
    """`platform` is a wire Platform. A cloudlet with a row has an agent that compares platforms before a move."""

    __tablename__ = "platforms"

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    driver: Mapped[str] = mapped_column(NAME, primary_key=True)
    platform: Mapped[dict[str, Any]] = mapped_column(JSON)
    at: Mapped[datetime] = mapped_column(Time, default=now)


async def tell(session: AsyncSession, cloudlet: str, told: Mapping[str, Platform]) -> None:
    """Store an agent's report on all of its drivers."""
    rows = {row.driver: row for row in await _of(session, cloudlet)}
    for driver in rows.keys() - told.keys():
        await session.delete(rows[driver])
    for driver, platform in told.items():
        row = rows.get(driver)
        if row is None:
            row = PlatformRow(cloudlet=cloudlet, driver=driver)
            session.add(row)
        row.platform, row.at = platform.model_dump(mode="json"), now()


async def told(session: AsyncSession, cloudlet: str) -> dict[str, bool]:
    """Return the drivers that the cloudlet's agent has reported, and whether it reports CPU models. An agent of an
    older release reports no drivers, or no models, and does not know the fields about them."""
    return {row.driver: row.platform.get("models") is not None for row in await _of(session, cloudlet)}


async def reports(session: AsyncSession, cloudlets: Collection[str], driver: str) -> dict[str, Platform]:
    """Return the platforms of a driver at these cloudlets, as far as they are reported."""
    query = select(PlatformRow.cloudlet, cast(PlatformRow.platform, Text))
    rows = await session.execute(query.where(PlatformRow.driver == driver, PlatformRow.cloudlet.in_(cloudlets)))
    return {cloudlet: _read(text) for cloudlet, text in rows}


@lru_cache(maxsize=64)
def _read(text: str) -> Platform:
    """Return the platform in a JSON text. It is cached, because most cloudlets are alike."""
    return Platform.model_validate_json(text)


async def kinds(session: AsyncSession) -> list[tuple[str, Platform, int]]:
    """Return each different report of a driver, and the number of cloudlets that have sent it: most are alike."""
    text = cast(PlatformRow.platform, Text)
    rows = await session.execute(select(PlatformRow.driver, text, func.count()).group_by(PlatformRow.driver, text))
    return [(driver, _read(found), count) for driver, found, count in rows]


async def having(
    session: AsyncSession, image: str, after: tuple[str, str], limit: int
) -> list[tuple[str, str, Platform, datetime]]:
    """Return up to `limit` reports of cloudlets that may have this image: cloudlet, driver, platform and time, sorted,
    those after a cloudlet and driver."""
    text = cast(PlatformRow.platform, Text)
    key = tuple_(PlatformRow.cloudlet, PlatformRow.driver)
    query = select(PlatformRow.cloudlet, PlatformRow.driver, text, PlatformRow.at).where(
        key > tuple_(*after),
        or_(text.contains(f'"{image}"', autoescape=True), text.contains(f'"{image}/', autoescape=True)),
    )
    rows = await session.execute(query.order_by(PlatformRow.cloudlet, PlatformRow.driver).limit(limit))
    return [(cloudlet, driver, _read(found), at) for cloudlet, driver, found, at in rows]


async def of(session: AsyncSession, cloudlet: str, driver: str) -> Platform | None:
    """Return the platform of a driver at a cloudlet; None if it is not reported."""
    row = await session.get(PlatformRow, (cloudlet, driver))
    return Platform.model_validate(row.platform) if row is not None else None


async def forget(session: AsyncSession, gone: Collection[str]) -> None:
    """Remove the reports of cloudlets that are gone."""
    await session.execute(delete(PlatformRow).where(PlatformRow.cloudlet.in_(gone)))


async def _of(session: AsyncSession, cloudlet: str) -> list[PlatformRow]:
    return list(await session.scalars(select(PlatformRow).where(PlatformRow.cloudlet == cloudlet)))
