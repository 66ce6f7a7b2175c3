"""Announce permits: changes by VMs, moves and leases are taken over into the intent, which goes to route servers.

A transaction that changes a permit notes it (`controller.db.announce_permits`), and does not wait. The leader makes one
change of all notes, so that a route server that is away or a controller that dies does not delay a move, or leave a
permit behind. A move that has brought both ends into one pool is noted before anything is prepared at the destination;
its end removes the permit of the other end."""

import logging
from ipaddress import ip_address

from sqlalchemy.ext.asyncio import AsyncSession

from controller.changes.flow import Changes
from controller.core.addresses import PlanError, address6
from controller.core.announce_permits import permit, places
from controller.core.intent import AnnouncePermit, Intent
from controller.core.refusals import Refused
from controller.db import announce_permits as table
from controller.db import moves, pairs, vms
from controller.db.engine import Database
from controller.db.pairs import PairRow

log = logging.getLogger(__name__)

AT_ONCE = 100
"""Most VMs whose announce permits go into one change."""


class AnnouncePermits:
    """Only the leader calls `settle`."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database, self._changes = database, changes

    async def settle(self) -> bool:
        """Take over the notes of `AT_ONCE` VMs at most; return whether to continue at once. While a change is on trial,
        no other change is possible, and the notes stay."""
        if not await self._any():
            return False
        try:
            await self._take_over()
        except Refused as refused:
            log.info("announce permits are told later: %s", refused.message)
            return False
        return await self._any()

    async def _take_over(self) -> None:
        ids: list[int] = []
        wanted: dict[str, AnnouncePermit | None] = {}

        async def guard(session: AsyncSession) -> None:
            noted = await table.due(session, AT_ONCE)
            ids.extend(row.id for row in noted)
            for name in sorted({row.vm for row in noted}):
                wanted[name] = await _permit(session, self._changes.intent, name)

        async def also(session: AsyncSession, intent: Intent) -> None:
            await table.told(session, ids)

        await self._changes.make(lambda intent: intent.with_permits(wanted), "announce permits", also, guard)

    async def _any(self) -> bool:
        async with self._database.read() as session:
            return await table.any_due(session)


async def _permit(session: AsyncSession, intent: Intent, name: str) -> AnnouncePermit | None:
    row = await vms.get(session, name, lock=True)
    if row is None:
        return None
    endpoints = {row.endpoint}
    reached = {row.address: None} if row.address is not None else {}
    for move in await moves.of_vm(session, name):
        saga = move.kept
        if row.endpoint in (found := places(saga)):
            endpoints |= found
        if saga.leaving:
            reached |= dict.fromkeys(saga.addresses)
    addresses = [each for address in reached for each in await _both(session, intent, row.device, address)]
    return permit(intent, name, row.made_of.macs, endpoints, addresses)


async def _both(session: AsyncSession, intent: Intent, device: str, address: str) -> list[str]:
    """Return an address of a device's VM, in both families."""
    known = {address: None}
    for pair in await pairs_with(session, intent, device, address):
        lan = intent.endpoints[pair.endpoint]
        known |= {six: None} if (six := address6(lan.prefix, lan.prefix6, address)) else {}
    return list(known)


async def pairs_with(session: AsyncSession, intent: Intent, device: str, address: str) -> list[PairRow]:
    """Return the pairs of a device that have an address which the device or its VM has."""
    found = []
    for pair in await pairs.of_device(session, device):
        lan = intent.endpoints.get(pair.endpoint)
        try:
            mine = lan is not None and lan.plan.index_of(ip_address(address)) == pair.number
        except PlanError:
            continue
        found += [pair] if mine else []
    return found
