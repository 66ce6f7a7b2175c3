"""Standing moves: somebody asked for them, and their VM's device has been taken to be where it is since before. They
stand: the VM does not go back to its device by itself."""

from sqlalchemy import Exists, and_, exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.saga import Phase
from controller.db.moves import MoveRow
from controller.db.sightings import SightingRow
from controller.db.vms import VmRow

DECIDING = "deciding"
"""Who asks for the moves that come of decisions."""

_STANDS = and_(
    MoveRow.vm == VmRow.name,
    SightingRow.device == VmRow.device,
    MoveRow.asked_by != DECIDING,
    MoveRow.state != Phase.UNDONE,
    MoveRow.created_at >= SightingRow.since,
    MoveRow.created_at >= VmRow.created_at,  # else it was of another VM of that name
)


def standing() -> Exists:
    """Whether there is a move that stands, of the VM or as the move of the query that it is part of."""
    return exists().where(_STANDS)


async def stands(session: AsyncSession, vm: str, endpoint: str) -> bool:
    """Whether a move of the VM stands against its going to the endpoint, where its device is taken to be."""
    there = VmRow.name == vm, SightingRow.endpoint == endpoint
    return bool(await session.scalar(select(exists().where(_STANDS, *there))))
