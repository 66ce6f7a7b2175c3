"""Encrypted tunnels between cloudlets, as each end last reported them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import CloudletFilter, PeerFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import NamePath
from controller.core.refusals import missing
from controller.core.tunnels import peers
from controller.db import tunnels as table
from controller.db.tunnels import TunnelRow
from controller.wire.tunnels import Condition

router = APIRouter(prefix="/api/v1/tunnels", tags=["tunnels"], dependencies=[Operator])


class Tunnel(BaseModel):
    """The report of `cloudlet`, at `at`, of its tunnel to `peer`, between the VTEPs `local` and `remote`. It is in its
    present `state` since `since`. It is `needed` if the two share a pool, or BGP goes through it; `alarm` is the time
    since when a needed tunnel has been missing for too long.

    `ike` and `esp` are the negotiated proposals; the traffic keys are from `keyed_at`, and new ones follow at
    `rekey_at`. The counters began with the agent and count traffic before encryption. `dropped` counts VXLAN packets in
    the clear that the guard has kept from leaving for that peer, or from entering from it. `why` is the reason why the
    tunnel is not up, if known."""

    cloudlet: str
    peer: str
    local: str
    remote: str
    state: Condition
    since: datetime
    needed: bool
    alarm: datetime | None
    ike: str
    esp: str
    keyed_at: datetime | None
    rekey_at: datetime | None
    bytes_in: int
    bytes_out: int
    packets_in: int
    packets_out: int
    dropped_in: Annotated[int, Field(description="Packets that came in the clear.")]
    dropped_out: Annotated[int, Field(description="Packets that were to leave in the clear.")]
    why: str | None
    at: datetime


@router.get("", responses=errors(), summary="List tunnels")
async def index(
    region: Running,
    cloudlet: CloudletFilter = None,
    peer: PeerFilter = None,
    state: Annotated[Condition | None, Query(description="Only those that are in this state.")] = None,
    alarm: Annotated[bool | None, Query(description="Only those that are missing for too long, or are not.")] = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Tunnel]:
    """Return tunnels by reporting cloudlet, then by peer. Each tunnel appears twice, once for each end; cloudlets that
    do not encrypt report none."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after_pair(cursor), limit + 1, cloudlet, peer, state, alarm)
    intent, known = region.intent, dict[str, frozenset[str]]()

    def shown(found: tuple[TunnelRow, datetime | None]) -> Tunnel:
        name = found[0].cloudlet
        if name not in known:
            known[name] = peers(intent, name)
        return _shown(*found, known[name])

    return pages.page(rows, limit, lambda found: f"{found[0].cloudlet} {found[0].peer}", shown)


@router.get("/{cloudlet}/{peer}", responses=errors(404), summary="Show a tunnel")
async def show(region: Running, cloudlet: NamePath, peer: NamePath) -> Tunnel:
    """Return the report of one end."""
    async with region.database.read() as session:
        found = await table.get(session, cloudlet, peer)
    if found is None:
        raise missing("tunnel", f"{cloudlet} to {peer}")
    return _shown(*found, peers(region.intent, cloudlet))


def _shown(row: TunnelRow, alarm: datetime | None, needed: frozenset[str]) -> Tunnel:
    same = set(Tunnel.model_fields) - {"needed", "alarm", "why"}
    values = {name: getattr(row, name) for name in same}
    return Tunnel(needed=row.peer in needed, alarm=alarm, why=row.why or None, **values)
