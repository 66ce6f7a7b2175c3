"""The images at each cloudlet, and those that it is to have, from the last report of its agent."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, ColumnElement, String, case, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.names import printable
from controller.db.base import NAME, Base, Time
from controller.db.cloudlets import CloudletRow
from controller.wire.images import ImageReport, ImageState

BATCH = 500
"""Names in one statement, as a database limits the number of parameters."""

_LONGEST = 1000  # characters of a detail


class StoredImageRow(Base):
    """A wire ImageState. `port` is that of the cloudlet's report, and `at` when the row last changed."""

    __tablename__ = "stored_images"

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    image: Mapped[str] = mapped_column(NAME, primary_key=True, index=True)
    digest: Mapped[str] = mapped_column(String(64))
    condition: Mapped[str] = mapped_column(String(8))
    done: Mapped[int] = mapped_column(BigInteger)
    total: Mapped[int | None] = mapped_column(BigInteger)
    detail: Mapped[str] = mapped_column(String(_LONGEST))
    port: Mapped[int | None]
    at: Mapped[datetime] = mapped_column(Time)


@dataclass(frozen=True)
class Stored:
    """A cloudlet that has an image, its VTEP and the port there at which it serves it, and the image's bytes."""

    cloudlet: str
    vtep: str
    port: int
    total: int | None

    @property
    def address(self) -> str:
        """The VTEP and the port in the form of a URL's authority."""
        return f"[{self.vtep}]:{self.port}" if ":" in self.vtep else f"{self.vtep}:{self.port}"


async def tell(session: AsyncSession, report: ImageReport) -> list[tuple[str | None, ImageState]]:
    """Store an agent's report on all of its images. Return those that have changed, each with its condition before;
    None for one that is new."""
    query = select(StoredImageRow).where(StoredImageRow.cloudlet == report.cloudlet).with_for_update()
    rows = {row.image: row for row in await session.scalars(query)}
    for name in rows.keys() - {state.name for state in report.images}:
        await session.delete(rows[name])
    changed: list[tuple[str | None, ImageState]] = []
    for state in {state.name: state for state in report.images}.values():
        row, before = rows.get(state.name), None
        if row is None:
            row = StoredImageRow(cloudlet=report.cloudlet, image=state.name)
            session.add(row)
        else:
            before = row.condition if row.digest == state.digest else None
        if before != state.condition:
            changed.append((before, state))
        detail = printable(state.detail, _LONGEST)
        told = (state.digest, state.condition, state.done, state.total, detail, report.port)
        if told != (row.digest, row.condition, row.done, row.total, row.detail, row.port):
            row.digest, row.condition, row.done, row.total, row.detail, row.port = told
            row.at = now()
    return changed


async def counts(session: AsyncSession) -> dict[str, tuple[int, int]]:
    """Return at how many cloudlets each image is, and at how many it is wanted and is not there yet."""
    there = func.sum(case((StoredImageRow.condition == "there", 1), else_=0))
    query = select(StoredImageRow.image, there, func.count()).group_by(StoredImageRow.image)
    return {image: (int(found), all_ - int(found)) for image, found, all_ in await session.execute(query)}


async def page(session: AsyncSession, image: str, after: str, limit: int) -> list[StoredImageRow]:
    """Return up to `limit` rows of an image, of cloudlets that sort after `after`."""
    query = select(StoredImageRow).where(StoredImageRow.image == image, StoredImageRow.cloudlet > after)
    return list(await session.scalars(query.order_by(StoredImageRow.cloudlet).limit(limit)))


async def at(session: AsyncSession, cloudlet: str, images: Collection[str]) -> list[StoredImageRow]:
    """Return the rows of these images at a cloudlet, sorted."""
    query = select(StoredImageRow).where(StoredImageRow.cloudlet == cloudlet, StoredImageRow.image.in_(images))
    return list(await session.scalars(query.order_by(StoredImageRow.image)))


async def holders(
    session: AsyncSession, image: str, digest: str, cloudlets: Collection[str] | None = None, limit: int = BATCH
) -> list[Stored]:
    """Return cloudlets that have this image, and serve it; of these `cloudlets` (None: of all), and at most `limit`."""
    found: list[Stored] = []
    names = None if cloudlets is None else sorted(cloudlets)
    for start in range(0, 1 if names is None else len(names), BATCH):
        among = () if names is None else (StoredImageRow.cloudlet.in_(names[start : start + BATCH]),)
        found += await _holders(session, image, digest, among, limit)
    return found[:limit]


async def _holders(
    session: AsyncSession, image: str, digest: str, among: Collection[ColumnElement[bool]], limit: int
) -> list[Stored]:
    query = (
        select(StoredImageRow.cloudlet, CloudletRow.vtep, StoredImageRow.port, StoredImageRow.total)
        .join(CloudletRow, CloudletRow.name == StoredImageRow.cloudlet)
        .where(StoredImageRow.image == image, StoredImageRow.digest == digest, StoredImageRow.condition == "there")
        .where(StoredImageRow.port.is_not(None), *among)
        .order_by(StoredImageRow.cloudlet)
        .limit(limit)
    )
    return [Stored(cloudlet, vtep, port or 0, total) for cloudlet, vtep, port, total in await session.execute(query)]


async def forget(session: AsyncSession, gone: Collection[str]) -> None:
    """Remove the images of cloudlets that are gone."""
    await session.execute(delete(StoredImageRow).where(StoredImageRow.cloudlet.in_(gone)))
