"""Devices: who goes by which MAC and client id is settled here, whether they were registered or came and asked."""

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.addresses import Kind
from controller.core.refusals import conflict
from controller.db import devices, pairs, sightings


async def know(
    session: AsyncSession, device: str, kind: Kind, mac: str | None, client_id: str | None, prefix: str = ""
) -> None:
    """Says how a device's MD or VM is known to DHCP. Whoever came and asked under that name was it: the device takes
    its pairs over, and its place. Raises Refused, the field with `prefix`, if it is another registered device's."""
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
