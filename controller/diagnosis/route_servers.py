"""The reading of route servers: rule set, sessions and all routes of each."""

import asyncio

from controller.core.doctor import Route, RouteServer
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, RouteServerClient, Unreachable
from controller.routeservers.sync import RouteServerSync

TABLES = ("adj-in", "adj-out", "quarantine")

MOST = 100_000
"""Maximum routes of one table of a route server that are compared: all of them are in memory at once."""

PAGE = 1_000
"""Routes requested from a route server at once: parsing them takes some milliseconds, in which nothing else runs."""


async def read(server: RouteServerSync) -> RouteServer:
    """Return all that a route server says, or the reason why it cannot be used."""
    client = server.client
    try:
        status, rules, barred = await asyncio.gather(client.status(), client.rule_set(), _barred(client))
        tables = [await _table(client, table) for table in TABLES]  # at once, their pages would come in one loop turn
    except (Unreachable, OtherGeneration, RefusedByRouteServer) as error:
        return RouteServer(server.name, None, error=str(error))
    sessions = {s["peer"]: str(s["state"]).lower() for s in status.get("sessions") or []}
    version = str(status.get("version") or "")
    adj_in, adj_out, quarantine = (routes[:MOST] for routes in tables)
    beyond = tuple(table for table, routes in zip(TABLES, tables, strict=True) if len(routes) > MOST)
    return RouteServer(server.name, rules, sessions, adj_in, adj_out, quarantine, server.error, barred, version, beyond)


def uncompared(server: RouteServer) -> list[str]:
    """Return sentences about the tables that are too large to be compared. Of those in quarantine, enough are shown."""
    return [
        f"{server.name} has more than {MOST:,} routes in {table}, so that the sent ones are not compared: "
        "weft route diff PE compares those of one PE"
        for table in server.beyond
        if table != "quarantine"
    ]


async def _barred(client: RouteServerClient) -> frozenset[tuple[str, str]]:
    """Return pairs of a recipient and an announcer; none from a release that holds nothing back."""
    try:
        found = await client.held({})
    except RefusedByRouteServer:
        return frozenset()
    return frozenset((source["peer"], source["announcer"]) for source in found.get("sources") or [])


async def _table(client: RouteServerClient, table: str) -> list[Route]:
    """Return all routes of a table, or a few more than MOST."""
    routes: list[Route] = []
    query = {"table": table, "limit": str(PAGE)}
    while True:
        found = await client.routes(query)
        await asyncio.sleep(0)  # others have a turn between the parsing and this
        routes += [Route.of(line) for line in found.get("routes") or []]
        if found.get("truncated") and not found.get("next"):
            raise Unreachable(f"its release gives only {len(routes)} routes of {table}")
        if len(routes) > MOST or not found.get("next"):
            return routes
        query["cursor"] = str(found["next"])
