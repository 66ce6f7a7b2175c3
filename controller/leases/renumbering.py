"""Renumbering: gathers the dependents of a LAN's addresses for `core.renumbering`, and lets its pairs begin anew."""

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.clock import now
from controller.core.intent import Endpoint, Intent
from controller.core.refusals import conflict
from controller.core.renumbering import Dependents, check_dependents, renumbers
from controller.db import blocks, delegations, endpoints, leases, moves, pairs, static_hosts, vms

MOST = 1000
"""Reservations that are counted."""


class Renumbering:
    """`heard` are the endpoints whose agents have told a controller all their leases."""

    def __init__(self, heard: set[str]) -> None:
        self._heard = heard

    async def check(self, session: AsyncSession, intent: Intent, after: Endpoint) -> None:
        """Raise Refused if something depends on addresses that an endpoint would lose."""
        before = intent.endpoints[after.name]
        if not renumbers(before, after):
            return
        if await delegations.any_of(session, after.name) and after.name not in self._heard:
            text = f"the agent of {after.name} has not yet told which addresses it has given out; try again"
            raise conflict(text, "prefix")
        check_dependents(intent, after, await _dependents(session, after))

    async def begin_anew(self, session: AsyncSession, old: Intent, new: Intent, names: list[str]) -> None:
        """Free all pairs of the renumbered endpoints among `names`. Devices get other pairs when they ask, and agents
        other blocks: until its agent has the new prefix, an account of the old addresses is answered with a
        beginning."""
        for name in sorted(names):
            if renumbers(old.endpoints[name], new.endpoints[name]):
                await endpoints.lock(session, name)
                known = await pairs.devices_at(session, name)
                await static_hosts.forget_declined(session, name)
                await pairs.take_all(session, name, now())
                await blocks.remove_all(session, name)
                await delegations.rest(session, name, now())
                await pairs.tidy(session, known)


async def _dependents(session: AsyncSession, of: Endpoint) -> Dependents:
    at, name = now(), of.name
    held = await leases.at_lans(session, [name], at)
    reserved = await pairs.page_reserved(session, 0, MOST, at, name, None)
    hosts = await static_hosts.at_lans(session, [name])
    return Dependents(
        leases=[f"{address} of {device}" for _, device, _, address in sorted(held)],
        reservations=[f"the pair {pair.number} reserved for {pair.device}" for pair in reserved],
        static_hosts=[f"the static host {host} at {address}" for _, host, address in sorted(hosts)],
        vms=[f"the VM {row.name}" for row in await vms.at(session, [name])],
        moves=[f"the move {row.name} of {row.vm}" for row in await moves.at(session, of.cloudlet) if _about(row, name)],
    )


def _about(row: moves.MoveRow, endpoint: str) -> bool:
    plan = row.kept.plan
    return row.live is not None and endpoint in (plan.source.endpoint, plan.destination.endpoint)
