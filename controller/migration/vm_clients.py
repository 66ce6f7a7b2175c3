"""The identity of a VM: it is one device's, and one DHCP client, whichever of its vNICs asks."""

from collections.abc import Collection

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.refusals import conflict, unknown
from controller.db import devices, names
from controller.db import vms as table
from controller.leases.devices import know
from controller.wire.machines import Machine, client_id


async def check_free(session: AsyncSession, machine: Machine, device: str) -> None:
    """Raise Refused if a VM has the name, a MAC or the device already, or if there is no such device."""
    if await table.get(session, machine.name) is not None:
        raise conflict(f"there is a VM {machine.name!r} already", "name")
    owner = await devices.get(session, device, lock=True)
    if owner is None or owner.implicit:
        raise unknown("device", "registered device", device, await names.around(session, "device", device))
    if other := await table.of_device(session, device):
        raise conflict(f"{device} has a VM already, {other.name}", "device")
    if other := await table.with_mac(session, machine.macs):
        raise conflict(f"{_common(machine.macs, other.made_of.macs)} is the VM {other.name}'s", "macs")


def _common(some: Collection[str], others: Collection[str]) -> str:
    return next(mac for mac in some if mac in others)


async def register(session: AsyncSession, machine: Machine, device: str) -> None:
    """Register the VM's DHCP client, under the client id that both vNICs use. If a client was registered by a MAC of
    this machine, it becomes this client."""
    vm, wanted = (await devices.clients(session, [device])).get((device, "vm")), client_id(machine.name)
    for mac in machine.macs:
        if vm is None or vm.mac != mac:
            await _check_nobodys(session, mac)
    if vm is None:
        await know(session, device, "vm", None, wanted)
    elif vm.client_id not in (None, wanted) or vm.mac not in (None, *machine.macs):
        raise conflict(f"{device}'s VM is known as {vm.client_id or vm.mac}: register the device without it", "device")
    else:
        vm.client_id = wanted
        await session.flush()


async def _check_nobodys(session: AsyncSession, mac: str) -> None:
    """Raise Refused if a registered device has the MAC. An implicit device may have been this VM."""
    clash = await devices.clashing(session, mac, None)
    owner = await devices.get(session, clash[1]) if clash else None
    if owner is not None and not owner.implicit:
        raise conflict(f"{mac} is {owner.name}'s", "macs")
