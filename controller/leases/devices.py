"""Devices: registered, altered and forgotten; decides which device has a MAC or client id, whether it was registered or
only asked for an address. Each function works in its caller's transaction."""

from collections.abc import Callable

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.addresses import Kind
from controller.core.clock import now
from controller.core.dhcp_identity import DhcpIdentity, Identities
from controller.core.refusals import conflict, invalid
from controller.db import devices, events, leases, names, pairs, sightings, vms
from controller.db.devices import DeviceRow

Check = Callable[[DeviceRow], None]
"""The caller's last check of the device; raises if the caller no longer wants the change."""


async def register(session: AsyncSession, name: str, wanted: Identities) -> None:
    """Register a device. One that is already in use without registration keeps its pairs under the new name. Raises
    Refused."""
    if await devices.get(session, name) is not None:
        raise conflict(f"there is a device {name!r} already", "name")
    devices.add(session, name)
    await session.flush()
    await know(session, name, "md", wanted.md.mac, wanted.md.client_id)
    if wanted.vm is not None:
        await know(session, name, "vm", wanted.vm.mac, wanted.vm.client_id, "vm.")
    await events.add(session, "device-registered", name, f"device {name} was registered")


async def present(session: AsyncSession, name: str, check: Check) -> tuple[DeviceRow, Identities]:
    """Return a device, which no other transaction changes before this one ends, and its identities. Raises Refused."""
    row = await devices.get(session, name, lock=True)
    if row is None:
        raise await names.missing(session, "device", name)
    check(row)
    vm = await vms.of_device(session, name)
    clients = await devices.clients(session, [name])
    return row, devices.identities(name, clients, vm.name if vm is not None else None)


async def alter(session: AsyncSession, row: DeviceRow, before: Identities, after: Identities) -> list[str]:
    """Give a device, and its VM, other identities; an implicit device is registered by that. Return sentences about the
    leases that this interrupts. Raises Refused."""
    await give_up(session, row, before, after)
    return await take_up(session, row, before, after)


async def give_up(session: AsyncSession, row: DeviceRow, before: Identities, after: Identities) -> None:
    """Do the first half of `alter`: forget the former identities, so that another device can have them. Raises
    Refused."""
    vm = await vms.of_device(session, row.name)
    if before.vm != after.vm and vm is not None:
        raise conflict(f"{row.name} has the VM {vm.name}, which has its own client id: remove it first", "vm")
    if not after.md.known:
        raise invalid("mac", f"{row.name} needs a MAC or a client id")
    if after.vm is not None and after.md.clashes(after.vm):
        raise invalid("vm", "the device and its VM cannot be known by the same mac or client_id")
    for kind, _, _ in _differing(before, after):
        await devices.forget(session, row.name, kind)


async def take_up(session: AsyncSession, row: DeviceRow, before: Identities, after: Identities) -> list[str]:
    """Do the second half of `alter`, and return its sentences. Raises Refused."""
    interrupted: list[str] = []
    for kind, was, wanted in _differing(before, after):
        if wanted is not None:
            prefix = "vm." if kind == "vm" else ""
            await know(session, row.name, kind, wanted.mac, wanted.client_id, prefix)
        if was is not None:
            interrupted += await _leased(session, row.name, kind)
    if before != after or row.implicit:
        row.implicit = False
        row.revision += 1
        await events.add(session, "device-changed", row.name, f"device {row.name} was changed")
    await session.flush()
    return interrupted


def _differing(before: Identities, after: Identities) -> list[tuple[Kind, DhcpIdentity | None, DhcpIdentity | None]]:
    both: list[tuple[Kind, DhcpIdentity | None, DhcpIdentity | None]] = [
        ("md", before.md, after.md),
        ("vm", before.vm, after.vm),
    ]
    return [(kind, was, wanted) for kind, was, wanted in both if was != wanted]


async def _leased(session: AsyncSession, device: str, kind: Kind) -> list[str]:
    held = await leases.page(session, 0, MOST, now(), None, device)
    return [
        f"{row.address} at {row.endpoint} stays with the former identity until {row.expires_at:%Y-%m-%dT%H:%M:%SZ}"
        for row in held
        if row.kind == kind
    ]


MOST = 100
"""Leases of a device that an alteration names."""


async def forget(session: AsyncSession, name: str, check: Check) -> None:
    """Remove a device. It must have no VM and no leases, because their holders would go on using the addresses. Raises
    Refused."""
    row, _ = await present(session, name, check)
    if vm := await vms.of_device(session, name):
        raise conflict(f"{name} has the VM {vm.name} at {vm.endpoint}: remove it first")
    if held := await leases.page(session, 0, 1, now(), None, name):
        raise conflict(f"{name} holds {held[0].address} at {held[0].endpoint}: release it first")
    await pairs.leave(session, name)
    await devices.remove(session, row.name)
    await events.add(session, "device-forgotten", name, f"device {name} was forgotten")


async def know(
    session: AsyncSession, device: str, kind: Kind, mac: str | None, client_id: str | None, prefix: str = ""
) -> None:
    """Record how a device's MD or VM is known to DHCP. An implicit device with the same MAC or client id is the same
    device: its pairs and its place go to this one, unless it has its own there. Raises Refused, the field with
    `prefix`, if another registered device has it."""
    while clash := await devices.clashing(session, mac, client_id):
        field, other = clash
        row = await devices.get(session, other)
        if other == device or row is None or not row.implicit:
            raise conflict(f"{mac if field == 'mac' else client_id} is {other}'s", f"{prefix}{field}")
        if kind == "md":
            own = {pair.endpoint for pair in await pairs.of_device(session, device)}
            free = {pair.id for pair in await pairs.of_device(session, other) if pair.endpoint not in own}
            await pairs.hand_over(session, other, device, free)
            if not await sightings.places(session, [device]):
                await sightings.hand_over(session, other, device)
        await pairs.leave(session, other)
        await devices.remove(session, other)
    devices.add_client(session, device, kind, mac, client_id)
    await session.flush()
