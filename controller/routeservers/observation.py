"""A replica that does not lead sees whether a route server is in step: the leader brings it up to date."""

import asyncio

from controller.routeservers.precedence import Precedence
from controller.routeservers.route_server import RouteServer, SendingHeld

GRACE = 0.25
"""Seconds in which a change that another replica has made comes to a route server, or will not come from there."""

LOOKS = 8
"""Looks at a route server that is just being changed by another replica, before it counts as not in step."""


async def observe(server: RouteServer, precedence: Precedence) -> int:
    """Return the generation that the server is at, if it has the current rule set. Raises Held, Unreachable,
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
    """Why a route server counts as not in step with a replica that does not lead."""
    return f"it is at generation {generation}; the replica that leads brings it up to date"
