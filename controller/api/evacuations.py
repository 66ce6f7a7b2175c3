"""Evacuations: all VMs leave a cloudlet."""

from fastapi import APIRouter
from pydantic import BaseModel

from controller.api.access import Operator, Running
from controller.api.moves import Move, shown_as
from controller.api.openapi import errors
from controller.api.types import NamePath

router = APIRouter(prefix="/api/v1/cloudlets/{name}/evacuation", tags=["moves"], dependencies=[Operator])


class Evacuation(BaseModel):
    """The moves that were started, in the order of their turns. `moving` are VMs that were already being moved,
    `stranded` those that cannot be moved, and `why` gives the obstacle for each of those."""

    moves: list[Move]
    moving: list[str]
    stranded: list[str]
    why: dict[str, str]


@router.post("", status_code=201, responses=errors(404, 409), summary="Evacuate a cloudlet")
async def create(name: NamePath, region: Running) -> Evacuation:
    """Move every running VM of the cloudlet to a possible neighbour: to its device if that is at one, else to the one
    where it arrives first. The VM stays there until its device settles at another place. Evacuate a cloudlet before you
    drain it: a VM moves within a pool."""
    found = await region.migration.evacuations.begin(name)
    moves = [shown_as(row) for row in found.moves]
    return Evacuation(moves=moves, moving=found.moving, stranded=sorted(found.stranded), why=found.stranded)
