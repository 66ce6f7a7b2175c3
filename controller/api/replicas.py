"""Replicas: the controllers that serve this region together."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.db import replicas as table

router = APIRouter(prefix="/api/v1/replicas", tags=["health"], dependencies=[Operator])


class Replica(BaseModel):
    """A controller. `alive`: it showed a sign of life within the last seconds. `agents` counts the agents connected to
    it. Times are null if there is only one controller (SQLite)."""

    name: str
    release: str
    alive: bool
    leading: bool
    agents: int
    started_at: datetime | None = None
    seen_at: datetime | None = None


class Replicas(BaseModel):
    """Replicas, sorted by name."""

    items: list[Replica]


@router.get("", responses=errors(), summary="List replicas")
async def index(region: Running) -> Replicas:
    """Return the replicas, this one included. A stopped replica stays listed for an hour."""
    replicas, agents = region.replication.replicas, region.agents.registry
    own = Replica(
        name=replicas.name,
        release=replicas.release,
        alive=True,
        leading=replicas.leadership.leading,
        agents=agents.connected,
    )
    if replicas.alone:
        return Replicas(items=[own])
    async with region.database.read() as session:
        found = await table.all_of_them(session)
    counts: dict[str, int] = {}
    for there in agents.elsewhere.values():
        if there.replica is not None:
            counts[there.replica] = counts.get(there.replica, 0) + 1
    return Replicas(
        items=[
            Replica(
                name=r.name,
                release=r.release,
                alive=r.alive,
                leading=own.leading if r.name == own.name else r.leading and r.alive,
                agents=own.agents if r.name == own.name else counts.get(r.name, 0) if r.alive else 0,
                started_at=r.started_at,
                seen_at=r.seen_at,
            )
            for r in found
        ]
    )
