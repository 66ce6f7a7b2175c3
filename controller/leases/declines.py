"""Takes in agents' reports of clients that found their address in use.

An address that an unknown machine uses is kept like that of a static host, for a limited time. Until that time ends,
its pair is not leased, the controller shows it to users (`weft address statics`), and an operator can free it
sooner."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.addresses import AddressPlan, PlanError
from controller.core.blocks import SIZE
from controller.core.event_budget import of_endpoint
from controller.core.refusals import invalid
from controller.core.static_hosts import Static
from controller.db import blocks, events, leases, pairs, static_hosts
from controller.db.pairs import PairRow
from controller.wire.delegations import Declined


async def take_in(
    session: AsyncSession, endpoint: str, plan: AddressPlan, declined: Iterable[Declined], at: datetime
) -> None:
    """End the leases, and keep the pairs free for as long as the agent does. Repeating it changes nothing. Raises
    Refused for a pair that the LAN does not have."""
    for each in declined:
        try:
            address = str(plan.pair(each.number)[each.kind == "vm"])
        except PlanError as error:
            raise invalid("declined", str(error)) from error
        if await static_hosts.at_address(session, endpoint, address) is not None:
            continue
        until = at + timedelta(seconds=each.left)
        pair = await pairs.at_number(session, endpoint, each.number)
        if pair is not None and pair.device is None:  # a static host's, which the agent did not know of
            continue
        device = await _take(session, pair, each, at)
        if each.whole:
            await _quarantine(session, endpoint, each.number, address, until)
        name, who = f"the {each.kind.upper()} of {device}" if device else "a client", each.mac or each.client_id
        text = (
            f"{address} at {endpoint} is in use by somebody else, says {name} ({who}); nobody gets it before "
            f"{until:%H:%M:%SZ}: find out which machine has it, and import or exclude its address"
        )
        data = {
            "endpoint": endpoint,
            "address": address,
            "kind": each.kind,
            "mac": each.mac,
            "until": f"{until:%FT%TZ}",
        }
        await events.add(session, "address-declined", device or endpoint, text, caused_by=of_endpoint(endpoint), **data)


async def _take(session: AsyncSession, pair: PairRow | None, declined: Declined, at: datetime) -> str | None:
    """End the lease that was declined and, if the whole pair must stay free, take it from its device. Returns the
    device's name."""
    if pair is None:
        return None
    device = pair.device
    await leases.end(session, [(pair.id, declined.kind)], at)
    if declined.whole:
        session.expunge(pair)
        await pairs.take(session, [pair.id])
        await pairs.tidy(session, [device] if device else [])
    return device


async def _quarantine(session: AsyncSession, endpoint: str, number: int, address: str, until: datetime) -> None:
    block = number // SIZE
    owner = (await blocks.owners(session, endpoint, [block])).get(block, blocks.OWN)
    pair = await pairs.give(session, endpoint, None, number, owner)
    name = "declined-" + address.replace(".", "-").replace(":", "-")
    await static_hosts.add(session, endpoint, [(Static(name, address), pair.id)], until)
