"""Evacuations: all VMs leave a cloudlet, one move each, to the best of its neighbours."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.clock import now
from controller.core.destinations import authorise, cut_off
from controller.core.drains import Drain, Leaver, Link, plan
from controller.core.host_room import lacks_memory
from controller.core.intent import Endpoint, Intent
from controller.core.refusals import Refused, missing
from controller.core.saga import MoveEnd, Plan
from controller.db import host_loads, vms
from controller.db.bandwidths import BandwidthRow
from controller.db.engine import Database
from controller.db.moves import MoveRow
from controller.db.neighbours import NeighbourRow
from controller.db.sightings import SightingRow
from controller.db.vms import VmRow
from controller.migration.moves import Moves
from controller.wire.host_loads import HostLoad


@dataclass
class Begun:
    """The moves in their order, VMs that were on their way already, and VMs that cannot go anywhere, with the
    reason."""

    moves: list[MoveRow] = field(default_factory=list)
    moving: list[str] = field(default_factory=list)
    stranded: dict[str, str] = field(default_factory=dict)


class Evacuations:
    """Plans evacuations from the records of neighbours, bandwidths and devices in the database."""

    def __init__(self, database: Database, intent: Callable[[], Intent], moves: Moves) -> None:
        self._database, self._intent, self._moves = database, intent, moves

    async def begin(self, cloudlet: str) -> Begun:
        """Start the moves. Raises Refused."""
        intent, begun = self._intent(), Begun()
        if cloudlet not in intent.cloudlets:
            raise missing("cloudlet", cloudlet, intent.cloudlets)
        async with self._database.read() as session:
            lans = [lan.name for lan in intent.endpoints_of.get(cloudlet, ())]
            rows = [row for row in await vms.at(session, lans) if row.condition in ("running", "unresponsive")]
            begun.moving = sorted(await vms.moves(session, [row.name for row in rows], ahead=False))
            staying = [row for row in rows if row.name not in begun.moving]
            leaving = [row for row in staying if row.condition == "running"]
            links = await _links(session, intent, cloudlet)
            seen = await _seen(session, [row.device for row in leaving])
            loads = await host_loads.of(session, links)
        silent = [row for row in staying if row not in leaving]
        begun.stranded = {row.name: f"it is {row.condition} at {row.endpoint}" for row in silent}
        drain = _decide(intent, leaving, links, seen, loads, begun.stranded)
        for leg in drain.legs:
            try:
                begun.moves.append(
                    await self._moves.start(leg.vm, leg.endpoint, asked_by="evacuation", reason=f"{cloudlet} is left")
                )
            except Refused as refused:
                begun.stranded[leg.vm] = refused.message
        return begun


def _decide(
    intent: Intent,
    rows: list[VmRow],
    links: dict[str, Link],
    seen: dict[str, str],
    loads: dict[str, HostLoad],
    stranded: dict[str, str],
) -> Drain:
    """Return the plan, and add the VMs that cannot go anywhere to `stranded`, with the reason."""
    targets = {lan.name: link for name, link in links.items() for lan in intent.endpoints_of.get(name, ())}
    leavers = []
    for row in rows:
        here = intent.endpoints[row.endpoint]
        why = f"it has no address at {here.name} yet" if row.address is None else cut_off(intent, here.name)
        obstacles = {
            name: why or _obstacle(intent, here, intent.endpoints[name], row, loads) for name in sorted(targets)
        }
        may = frozenset(name for name, obstacle in obstacles.items() if obstacle is None)
        if not may:
            said = "; ".join(dict.fromkeys(filter(None, obstacles.values())))
            stranded[row.name] = why or said or f"{here.cloudlet} has no possible neighbour with a LAN"
            continue
        size = row.memory_used or row.made_of.memory
        leavers.append(Leaver(row.name, size, may, seen.get(row.device)))
    return plan(leavers, targets)


def _obstacle(intent: Intent, here: Endpoint, there: Endpoint, row: VmRow, loads: dict[str, HostLoad]) -> str | None:
    """Return why the VM may not go there, None if it may."""
    ends = (MoveEnd(e.cloudlet, e.name, intent.cloudlets[e.cloudlet].vtep) for e in (here, there))
    source, destination = ends
    try:
        authorise(intent, Plan("", row.made_of, row.device, source, destination, row.address or ""))
    except Refused as refused:
        return refused.message
    return lacks_memory(row.made_of, there.cloudlet, loads.get(there.cloudlet))


async def _links(session: AsyncSession, intent: Intent, cloudlet: str) -> dict[str, Link]:
    """Return the possible neighbours of a cloudlet."""
    query = select(NeighbourRow.neighbour, NeighbourRow.median_ms).where(
        NeighbourRow.cloudlet == cloudlet, NeighbourRow.possible, NeighbourRow.fresh_until > now()
    )
    found = {n: Link(None, ms or 0.0) for n, ms in await session.execute(query) if n in intent.cloudlets}
    known = select(BandwidthRow.neighbour, BandwidthRow.bits_per_second).where(BandwidthRow.cloudlet == cloudlet)
    for neighbour, bits in await session.execute(known):
        if neighbour in found:
            found[neighbour] = replace(found[neighbour], bandwidth=bits or None)
    return found


async def _seen(session: AsyncSession, devices: list[str]) -> dict[str, str]:
    """Return the endpoints where devices are taken to be."""
    query = select(SightingRow.device, SightingRow.endpoint).where(SightingRow.device.in_(devices))
    return {device: endpoint for device, endpoint in await session.execute(query) if endpoint is not None}
