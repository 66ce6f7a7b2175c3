"""Moves that stand: a user asked for them, and since then their VM's device has stayed where it is taken to be. As long
as a move stands, the VM does not go back to its device by itself."""

from sqlalchemy import Exists, and_, exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.saga import Phase
from controller.db.moves import MoveRow
from controller.db.sightings import SightingRow
from controller.db.vms import VmRow

DECIDING = "deciding"
"""The name in `asked_by` for moves that came of decisions."""

_STANDS = and_(
    MoveRow.vm == VmRow.name,
    SightingRow.device == VmRow.device,
    MoveRow.asked_by != DECIDING,
    ~MoveRow.ahead,
    MoveRow.state != Phase.UNDONE,
    MoveRow.created_at >= SightingRow.since,
    MoveRow.created_at >= VmRow.created_at,  # otherwise it was of another VM of that name
)


def standing() -> Exists:
    """Return the condition that there is a move that stands, of the VM or as the move of the surrounding query."""
    return exists().where(_STANDS)


async def stands(session: AsyncSession, vm: str, endpoint: str) -> bool:
    """Return whether a standing move of the VM keeps it from going to the endpoint where its device is taken to be."""
    there = VmRow.name == vm, SightingRow.endpoint == endpoint
    return bool(await session.scalar(select(exists().where(_STANDS, *there))))
