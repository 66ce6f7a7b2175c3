"""Devices: an MD and, optionally, the VM that works for it."""

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import CheckConstraint, ForeignKey, String, UniqueConstraint, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.addresses import Kind
from controller.core.clock import now
from controller.core.dhcp_identity import DhcpIdentity, Identities
from controller.db.base import NAME, NUMBER, Base, Time
from controller.wire import machines


class DeviceRow(Base):
    """`implicit`: it was not registered, and exists because it asked for an address."""

    __tablename__ = "devices"

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    implicit: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(Time, default=now)
    revision: Mapped[int] = mapped_column(default=1)


class ClientRow(Base):
    """How the MD (`md`) or the VM (`vm`) of a device is known to DHCP. A MAC or a client id belongs to one client
    only."""

    __tablename__ = "clients"
    __table_args__ = (
        UniqueConstraint("device", "kind"),
        CheckConstraint("kind IN ('md', 'vm')", name="kind"),
        CheckConstraint("mac IS NOT NULL OR client_id IS NOT NULL", name="known"),
    )

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    device: Mapped[str] = mapped_column(NAME, ForeignKey("devices.name"))
    kind: Mapped[Literal["md", "vm"]] = mapped_column(String(2))
    mac: Mapped[str | None] = mapped_column(String(17), unique=True)
    client_id: Mapped[str | None] = mapped_column(String(510), unique=True)


async def get(session: AsyncSession, name: str, *, lock: bool = False) -> DeviceRow | None:
    """Return the device of that name. `lock`: no other transaction changes it before this one ends."""
    return await session.get(DeviceRow, name, populate_existing=True, with_for_update=lock or None)


async def page(session: AsyncSession, after: str, limit: int) -> list[DeviceRow]:
    """Return up to `limit` devices whose names sort after `after`."""
    query = select(DeviceRow).where(DeviceRow.name > after).order_by(DeviceRow.name).limit(limit)
    return list(await session.scalars(query))


async def clients(session: AsyncSession, devices: list[str]) -> dict[tuple[str, str], ClientRow]:
    """Return the clients of these devices by (device, kind)."""
    rows = await session.scalars(select(ClientRow).where(ClientRow.device.in_(devices)))
    return {(row.device, row.kind): row for row in rows}


def identities(device: str, clients: Mapping[tuple[str, str], ClientRow], vm: str | None) -> Identities:
    """Return the identities of a device. `clients` are by device and kind, and `vm` is its registered VM."""
    found: dict[str, DhcpIdentity] = {}
    for kind in ("md", "vm"):
        if (row := clients.get((device, kind))) is not None:
            derived = kind == "vm" and vm is not None and row.client_id == machines.client_id(vm)
            found[kind] = DhcpIdentity(row.mac, None if derived else row.client_id)
    one = found.get("vm")
    return Identities(found.get("md", DhcpIdentity()), one if one is not None and one.known else None)


async def known_as(session: AsyncSession, mac: str | None, client_id: str | None) -> ClientRow | None:
    """Return the client with this client id or, if there is none, with this MAC (RFC 2131, section 4.2)."""
    either = [column == value for column, value in ((ClientRow.client_id, client_id), (ClientRow.mac, mac)) if value]
    rows = list(await session.scalars(select(ClientRow).where(or_(*either))))
    return min(rows, key=lambda row: row.client_id != client_id, default=None)


async def known(
    session: AsyncSession, asked: Collection[tuple[str | None, str | None]]
) -> Mapping[tuple[str | None, str | None], tuple[ClientRow, bool]]:
    """Return the same as `known_as`, for many (MAC, client id) at once; with each, whether its device is implicit."""
    if not asked:
        return {}
    macs, ids = {mac for mac, _ in asked if mac}, {client_id for _, client_id in asked if client_id}
    query = select(ClientRow, DeviceRow.implicit).join(DeviceRow, DeviceRow.name == ClientRow.device)
    rows = await session.execute(query.where(or_(ClientRow.mac.in_(macs), ClientRow.client_id.in_(ids))))
    by_mac, by_id = {}, {}
    for client, implicit in rows:
        by_mac[client.mac], by_id[client.client_id] = (client, implicit), (client, implicit)
    by_mac.pop(None, None)
    by_id.pop(None, None)
    found = {}
    for mac, client_id in asked:
        if one := by_id.get(client_id) or by_mac.get(mac):
            found[mac, client_id] = one
    return found


async def named(session: AsyncSession, names: Collection[str]) -> set[str]:
    """Return those of the names that devices have."""
    return set(await session.scalars(select(DeviceRow.name).where(DeviceRow.name.in_(names))))


def nameless() -> str:
    """Return a name for a device of which only its pair is known."""
    return f"dev-{secrets.token_hex(8)}"


async def forget_unused(session: AsyncSession, names: Collection[str], used: Any) -> None:
    """Delete those of the devices that are implicit and for which `used`, a condition, does not hold."""
    gone = set(
        await session.scalars(select(DeviceRow.name).where(DeviceRow.name.in_(names), DeviceRow.implicit, ~used))
    )
    await session.execute(delete(ClientRow).where(ClientRow.device.in_(gone)))
    await session.execute(delete(DeviceRow).where(DeviceRow.name.in_(gone)))


async def clashing(session: AsyncSession, mac: str | None, client_id: str | None) -> tuple[str, str] | None:
    """Return the field (`mac` or `client_id`) that another device has already, and that device."""
    for field, column, value in (("mac", ClientRow.mac, mac), ("client_id", ClientRow.client_id, client_id)):
        if value and (row := await session.scalar(select(ClientRow).where(column == value))):
            return field, row.device
    return None


def add(session: AsyncSession, name: str, *, implicit: bool = False) -> None:
    """Add a device without clients."""
    session.add(DeviceRow(name=name, implicit=implicit))


def add_client(session: AsyncSession, device: str, kind: Kind, mac: str | None, client_id: str | None) -> None:
    """Record how the device's MD or VM is known."""
    session.add(ClientRow(device=device, kind=kind, mac=mac, client_id=client_id))


async def forget(session: AsyncSession, device: str, kind: Kind) -> None:
    """Remove the identity of a device's MD or VM."""
    await session.execute(delete(ClientRow).where(ClientRow.device == device, ClientRow.kind == kind))


async def forget_client(session: AsyncSession, device: str, client_id: str) -> None:
    """Remove this client id from the device's VM; without a MAC, the VM is not known at all any more."""
    mine = ClientRow.device == device, ClientRow.kind == "vm", ClientRow.client_id == client_id
    await session.execute(delete(ClientRow).where(*mine, ClientRow.mac.is_(None)))
    await session.execute(update(ClientRow).where(*mine).values(client_id=None))


async def add_all(session: AsyncSession, names: Collection[str], clients: list[dict[str, Any]]) -> None:
    """Add implicit devices and their clients, many at once."""
    if names:
        at = now()
        rows = [{"name": name, "implicit": True, "created_at": at, "revision": 1} for name in sorted(names)]
        await session.execute(insert(DeviceRow), rows)
    if clients:
        await session.execute(insert(ClientRow), clients)


async def remove(session: AsyncSession, name: str) -> None:
    """Remove a device that has no pairs."""
    await session.execute(delete(ClientRow).where(ClientRow.device == name))
    await session.execute(delete(DeviceRow).where(DeviceRow.name == name))
