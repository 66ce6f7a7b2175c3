"""What machines find at each cloudlet, by driver, as its agent has told last."""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, Text, cast, delete, select
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
    """Keeps what an agent tells: all of its drivers."""
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
    """By driver of which the cloudlet's agent has told: whether it reports CPU models. One of an older release tells of
    none, or reports no models, and does not know the fields that are about them."""
    return {row.driver: row.platform.get("models") is not None for row in await _of(session, cloudlet)}


async def reports(session: AsyncSession, cloudlets: Collection[str], driver: str) -> dict[str, Platform]:
    """What machines of a driver find at each of these cloudlets, as far as anybody has told."""
    query = select(PlatformRow.cloudlet, cast(PlatformRow.platform, Text))
    rows = await session.execute(query.where(PlatformRow.driver == driver, PlatformRow.cloudlet.in_(cloudlets)))
    return {cloudlet: _read(text) for cloudlet, text in rows}


@lru_cache(maxsize=64)
def _read(text: str) -> Platform:
    """Most cloudlets are like others."""
    return Platform.model_validate_json(text)


async def of(session: AsyncSession, cloudlet: str, driver: str) -> Platform | None:
    """What machines of a driver find there; None if nobody has told."""
    row = await session.get(PlatformRow, (cloudlet, driver))
    return Platform.model_validate(row.platform) if row is not None else None


async def forget(session: AsyncSession, gone: Collection[str]) -> None:
    """Takes away what was told of cloudlets that are gone."""
    await session.execute(delete(PlatformRow).where(PlatformRow.cloudlet.in_(gone)))


async def _of(session: AsyncSession, cloudlet: str) -> list[PlatformRow]:
    return list(await session.scalars(select(PlatformRow).where(PlatformRow.cloudlet == cloudlet)))
