"""Devices: decides which device has a MAC or client id, whether it was registered or only asked for an address."""

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.addresses import Kind
from controller.core.refusals import conflict
from controller.db import devices, pairs, sightings


async def know(
    session: AsyncSession, device: str, kind: Kind, mac: str | None, client_id: str | None, prefix: str = ""
) -> None:
    """Record how a device's MD or VM is known to DHCP. An implicit device with the same MAC or client id is the same
    device: its pairs and its place go to this one. Raises Refused, the field with `prefix`, if another registered
    device has it."""
    while clash := await devices.clashing(session, mac, client_id):
        field, other = clash
        row = await devices.get(session, other)
        if row is None or not row.implicit:
            raise conflict(f"{mac if field == 'mac' else client_id} is {other}'s", f"{prefix}{field}")
        if kind == "md":
            await pairs.hand_over(session, other, device)
            await sightings.hand_over(session, other, device)
        else:
            await pairs.leave(session, other)
        await devices.remove(session, other)
    devices.add_client(session, device, kind, mac, client_id)
    await session.flush()
