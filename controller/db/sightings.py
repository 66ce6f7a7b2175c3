"""Sightings: the LAN at which each device was last seen, and since when it is taken to be there."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, fields
from datetime import datetime

from sqlalchemy import ForeignKey, String, and_, exists, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.sightings import DevicePlace
from controller.db.base import NAME, Base, Time
from controller.db.devices import ClientRow
from controller.db.leases import LeaseRow
from controller.db.vms import VmRow
from controller.wire.sightings import How

Address = tuple[str, str]
"""Endpoint and address."""


class SightingRow(Base):
    """The device is taken to be at `endpoint` since `since`. It was last seen at `seen_endpoint`, there without a break
    since `seen_since`, by `how`, the last time at `at`. `turns` counts how often it went elsewhere lately, as of
    `turned_at`: a device that flaps is held back."""

    __tablename__ = "sightings"

    device: Mapped[str] = mapped_column(NAME, ForeignKey("devices.name", ondelete="CASCADE"), primary_key=True)
    endpoint: Mapped[str | None] = mapped_column(NAME)
    since: Mapped[datetime | None] = mapped_column(Time)
    seen_endpoint: Mapped[str] = mapped_column(NAME)
    seen_since: Mapped[datetime] = mapped_column(Time)
    how: Mapped[How] = mapped_column(String(8))
    at: Mapped[datetime] = mapped_column(Time)
    turns: Mapped[float] = mapped_column(default=0.0)
    turned_at: Mapped[datetime] = mapped_column(Time)

    @property
    def place(self) -> DevicePlace:
        """The place of the device, in the form that decisions are made on."""
        return DevicePlace(**{field.name: getattr(self, field.name) for field in fields(DevicePlace)})


async def places(session: AsyncSession, devices: Collection[str], *, lock: bool = False) -> dict[str, DevicePlace]:
    """Return where these devices are, as far as they were seen. `lock`: no other transaction changes that before this
    one ends."""
    query = select(SightingRow).where(SightingRow.device.in_(devices)).order_by(SightingRow.device)
    rows = await session.scalars(query.with_for_update() if lock else query)
    return {row.device: row.place for row in rows}


async def save(session: AsyncSession, before: Collection[str], after: Mapping[str, DevicePlace]) -> None:
    """Write places; `before` are the devices that have one. Raises IntegrityError if another transaction was
    quicker."""
    added = [{"device": name, **asdict(place)} for name, place in after.items() if name not in before]
    if added:
        await session.execute(insert(SightingRow), added)
    for name, place in after.items():
        if name in before:
            await session.execute(update(SightingRow).where(SightingRow.device == name).values(**asdict(place)))


async def leased(
    session: AsyncSession, wanted: Iterable[Address], at: datetime
) -> dict[Address, tuple[LeaseRow, frozenset[str]]]:
    """Return the leases on these addresses that have not expired, and the MACs by which their holders are known."""
    query = (
        select(LeaseRow, ClientRow.mac)
        .outerjoin(ClientRow, and_(ClientRow.device == LeaseRow.device, ClientRow.kind == LeaseRow.kind))
        .where(tuple_(LeaseRow.endpoint, LeaseRow.address).in_(sorted(set(wanted))), LeaseRow.expires_at > at)
    )
    return {
        (lease.endpoint, lease.address): (lease, frozenset(filter(None, (lease.mac, mac))))
        for lease, mac in await session.execute(query)
    }


async def unsettled(session: AsyncSession, at: datetime) -> list[tuple[str, DevicePlace, str | None]]:
    """Return devices that hold a lease where they were last seen and are not taken to be there yet: name, place, and
    the LAN of the VM, if there is one."""
    held = exists().where(
        LeaseRow.device == SightingRow.device,
        LeaseRow.endpoint == SightingRow.seen_endpoint,
        LeaseRow.kind == "md",
        LeaseRow.expires_at > at,
    )
    moved = SightingRow.endpoint.is_distinct_from(SightingRow.seen_endpoint)
    query = select(SightingRow, VmRow.endpoint).outerjoin(VmRow, VmRow.device == SightingRow.device)
    return [(row.device, row.place, vm) for row, vm in await session.execute(query.where(moved, held))]


async def settle(session: AsyncSession, device: str, place: DevicePlace, at: datetime) -> bool:
    """Record that the device is taken to be where it was last seen, from `at` on. Returns False if it was seen
    elsewhere meanwhile, or another transaction has recorded it."""
    same = (
        SightingRow.device == device,
        SightingRow.seen_endpoint == place.seen_endpoint,
        SightingRow.seen_since == place.seen_since,
        SightingRow.endpoint.is_not_distinct_from(place.endpoint),
    )
    change = update(SightingRow).where(*same).values(endpoint=place.seen_endpoint, since=at)
    return (await session.execute(change.returning(SightingRow.device))).first() is not None


async def apart(session: AsyncSession) -> list[tuple[str, str]]:
    """Return devices that are taken to be at another LAN than their VM, and that LAN."""
    query = select(SightingRow.device, SightingRow.endpoint).join(VmRow, VmRow.device == SightingRow.device)
    found = await session.execute(query.where(SightingRow.endpoint != VmRow.endpoint).order_by(SightingRow.device))
    return [(device, endpoint) for device, endpoint in found if endpoint is not None]


async def page(
    session: AsyncSession, after: str, limit: int, device: str | None, endpoint: str | None, settled: bool | None
) -> list[SightingRow]:
    """Return up to `limit` sightings of devices whose names sort after `after`. `endpoint`: they are taken to be, or
    were last seen, there."""
    query = select(SightingRow).where(SightingRow.device > after)
    if device is not None:
        query = query.where(SightingRow.device == device)
    if endpoint is not None:
        query = query.where((SightingRow.endpoint == endpoint) | (SightingRow.seen_endpoint == endpoint))
    if settled is not None:
        there = SightingRow.endpoint.is_not_distinct_from(SightingRow.seen_endpoint)
        query = query.where(there if settled else ~there)
    return list(await session.scalars(query.order_by(SightingRow.device).limit(limit)))


async def hand_over(session: AsyncSession, giver: str, taker: str) -> None:
    """Give the sightings of a device to another one, which has none itself."""
    await session.execute(update(SightingRow).where(SightingRow.device == giver).values(device=taker))
