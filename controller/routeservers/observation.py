"""The check of a replica that does not lead whether a route server is in step. The leader brings it up to date."""

import asyncio

from controller.routeservers.precedence import Precedence
from controller.routeservers.route_server import RouteServer, SendingHeld

GRACE = 0.25
"""Seconds in which another replica's change is expected to arrive at a route server."""

LOOKS = 8
"""Looks at a route server that another replica is changing, before it counts as not in step."""


async def observe(server: RouteServer, precedence: Precedence) -> int:
    """Return the generation that the server is at, if it has the current rule set. Raises SendingHeld, Unreachable,
    RefusedByRouteServer and Unavailable."""
    status = await server.client.status()
    server.started_at = str(status.get("started_at"))
    for _ in range(LOOKS):
        found = await server.client.rule_set()
        await server.source.refresh()
        if found == server.wanted():
            break
        await asyncio.sleep(GRACE / LOOKS)
    else:
        raise SendingHeld(behind(found.generation))
    if held := await precedence.held():
        raise SendingHeld(held)
    return found.generation


def behind(generation: int) -> str:
    """Return the reason for which a route server counts as not in step on a replica that does not lead."""
    return f"it is at generation {generation}; the replica that leads brings it up to date"
