"""Devices: an MD and, optionally, the VM that works for it."""

from datetime import datetime
from typing import Literal

from sqlalchemy import CheckConstraint, ForeignKey, String, UniqueConstraint, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.addresses import Kind
from controller.db.base import NAME, Base, Time, now


class DeviceRow(Base):
    """`implicit`: nobody registered it, it asked for an address."""

    __tablename__ = "devices"

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    implicit: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(Time, default=now)
    revision: Mapped[int] = mapped_column(default=1)


class ClientRow(Base):
    """How the MD (`md`) or the VM (`vm`) of a device is known to DHCP. A MAC or a client id is one client's only."""

    __tablename__ = "clients"
    __table_args__ = (
        UniqueConstraint("device", "kind"),
        CheckConstraint("kind IN ('md', 'vm')", name="kind"),
        CheckConstraint("mac IS NOT NULL OR client_id IS NOT NULL", name="known"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    device: Mapped[str] = mapped_column(NAME, ForeignKey("devices.name"))
    kind: Mapped[Literal["md", "vm"]] = mapped_column(String(2))
    mac: Mapped[str | None] = mapped_column(String(17), unique=True)
    client_id: Mapped[str | None] = mapped_column(String(510), unique=True)


async def get(session: AsyncSession, name: str) -> DeviceRow | None:
    """The device of that name."""
    return await session.get(DeviceRow, name, populate_existing=True)


async def page(session: AsyncSession, after: str, limit: int) -> list[DeviceRow]:
    """Up to `limit` devices whose names sort after `after`."""
    query = select(DeviceRow).where(DeviceRow.name > after).order_by(DeviceRow.name).limit(limit)
    return list(await session.scalars(query))


async def clients(session: AsyncSession, devices: list[str]) -> dict[tuple[str, str], ClientRow]:
    """The clients of these devices by (device, kind)."""
    rows = await session.scalars(select(ClientRow).where(ClientRow.device.in_(devices)))
    return {(row.device, row.kind): row for row in rows}


async def known_as(session: AsyncSession, mac: str | None, client_id: str | None) -> ClientRow | None:
    """The client that goes by this client id or, if none does, by this MAC (RFC 2131, section 4.2)."""
    either = [column == value for column, value in ((ClientRow.client_id, client_id), (ClientRow.mac, mac)) if value]
    rows = list(await session.scalars(select(ClientRow).where(or_(*either))))
    return min(rows, key=lambda row: row.client_id != client_id, default=None)


async def clashing(session: AsyncSession, mac: str | None, client_id: str | None) -> tuple[str, str] | None:
    """The field (`mac` or `client_id`) that another device has already, and that device."""
    for field, column, value in (("mac", ClientRow.mac, mac), ("client_id", ClientRow.client_id, client_id)):
        if value and (row := await session.scalar(select(ClientRow).where(column == value))):
            return field, row.device
    return None


def add(session: AsyncSession, name: str, *, implicit: bool = False) -> None:
    """Adds a device without clients."""
    session.add(DeviceRow(name=name, implicit=implicit))


def add_client(session: AsyncSession, device: str, kind: Kind, mac: str | None, client_id: str | None) -> None:
    """Says how the device's MD or VM is known."""
    session.add(ClientRow(device=device, kind=kind, mac=mac, client_id=client_id))


async def remove(session: AsyncSession, name: str) -> None:
    """Removes a device that has no pairs."""
    await session.execute(delete(ClientRow).where(ClientRow.device == name))
    await session.execute(delete(DeviceRow).where(DeviceRow.name == name))
