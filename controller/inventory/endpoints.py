"""Endpoints that are made, changed and removed: what the database has of them beside the intent."""

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.alterations import described
from controller.core.intent import Intent
from controller.core.tenants import waiting
from controller.db import events
from controller.leases.renumbering import Renumbering


async def made(session: AsyncSession, intent: Intent, name: str) -> None:
    """Record a new endpoint, and that it waits for its tenant's consent if it does."""
    endpoint = intent.endpoints[name]
    text = f"endpoint {name} of {endpoint.cloudlet} was made: {endpoint.prefix}, site {endpoint.site}"
    await events.add(session, "endpoint-created", name, text, cloudlet=endpoint.cloudlet)
    await _awaited(session, intent, name)


async def altered(session: AsyncSession, old: Intent, new: Intent, name: str, renumbering: Renumbering) -> None:
    """Record an altered endpoint. Its pairs begin anew if it has other prefixes."""
    await renumbering.begin_anew(session, old, new, [name])
    if said := described(old.endpoints[name], new.endpoints[name]):
        await events.add(session, "endpoint-changed", name, f"endpoint {name} was changed: {said}")
    if not old.held(name):
        await _awaited(session, new, name)


async def removed(session: AsyncSession, name: str) -> None:
    """Record that an endpoint is removed."""
    await events.add(session, "endpoint-removed", name, f"endpoint {name} was removed")


async def _awaited(session: AsyncSession, intent: Intent, name: str) -> None:
    if intent.held(name):
        text = f"held back: {waiting(intent.endpoints[name])}"
        await events.add(session, "consent-awaited", name, text, tenant=intent.endpoints[name].tenant)
