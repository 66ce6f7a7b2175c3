"""Pools that an endpoint has joined for a VM: which pool it was, and which VMs need it now."""

from ipaddress import ip_address

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.intent import Intent
from controller.core.saga import Phase, Saga
from controller.db import members, moves, vms
from controller.db.vms import VmRow


async def borrowed(session: AsyncSession, vm: VmRow) -> str | None:
    """Return the pool that the VM's endpoint joined for the move that brought the VM there. None if there is none, or
    if the endpoint has joined the pool anew since, for another reason."""
    for row in await moves.page(session, None, 1, vm=vm.name, states=(Phase.DONE,)):
        saga = row.kept
        if saga.pool is not None and saga.plan.destination.endpoint == vm.endpoint:
            member = await members.get(session, saga.pool, vm.endpoint)
            return saga.pool if member is not None and member.generation == saga.joined else None
    return None


async def needed(session: AsyncSession, intent: Intent, vcp: str, endpoint: str, left: Saga) -> str | None:
    """Return why VMs still need an endpoint in a pool after the move `left`: one is there, is on its way there, or is
    known by an address of its LAN. None if no VM needs it."""
    pool = intent.vcps.get(vcp)
    if pool is None or endpoint not in pool.members:
        return "it is no longer a member"
    lan = intent.endpoints[endpoint]
    for row in await vms.at(session, sorted(pool.members)):
        if row.endpoint == endpoint and row.name != left.plan.machine.name:
            return f"{row.name} is there"
        if row.address is not None and ip_address(row.address) in lan.plan.network:
            return f"{row.name} is known by {row.address}"
    for move in await moves.at(session, lan.cloudlet):
        if move.live is None or move.ahead or move.name == left.plan.move:
            continue
        if move.kept.plan.destination.endpoint == endpoint:
            return f"{move.vm} is on its way there"
    return None
