"""The looking glass: routes that route servers received, sent and keep in quarantine, and the reasons for each route's
way."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import IPvAnyNetwork
from starlette.responses import StreamingResponse

from controller.api import streams
from controller.api.access import Operator, Running, Still
from controller.api.looking_glass import Comparison, Explanation, Routes, RouteServer, RouteServers
from controller.api.names import EndpointFilter, PeerFilter, RouteServerFilter, VcpFilter
from controller.api.openapi import errors
from controller.api.server_pages import Cursor, Limit, ask, asked, server_page
from controller.api.verbatim import Json
from controller.api.watching import watching
from controller.core.refusals import invalid, unknown
from controller.routeservers.client import RefusedByRouteServer, RouteServerClient
from controller.runtime.problems import Problem
from controller.wire.names import NAME_PATTERN
from controller.wire.route_tables import QuarantineReason, Table
from controller.wire.rulesets import Carried

router = APIRouter(prefix="/api/v1", tags=["routes"], dependencies=[Operator])

Endpoint = Annotated[str, Query(pattern=NAME_PATTERN, max_length=63)]


async def _selection(
    peer: PeerFilter = None,
    endpoint: EndpointFilter = None,
    vcp: VcpFilter = None,
    prefix: IPvAnyNetwork | None = None,
    mac: Annotated[str | None, Query(pattern=r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$")] = None,
    family: Carried | None = None,
    rt: Annotated[str | None, Query(pattern=r"^[0-9.]+L?:[0-9]+$", max_length=30)] = None,
) -> dict[str, str]:
    query = {"peer": peer, "endpoint": endpoint, "pool": vcp, "mac": mac, "family": family, "rt": rt}
    query["prefix"] = None if prefix is None else str(prefix)
    return {name: value for name, value in query.items() if value is not None}


Selected = Annotated[dict[str, str], Depends(_selection)]


@router.get("/route-servers", responses=errors(), summary="List route servers")
async def servers(region: Running) -> RouteServers:
    """Return the route servers with their present BGP sessions."""
    answers = await asyncio.gather(*(asked(s, lambda client: client.status()) for s in region.route_servers.syncs))
    addresses = {server.name: server for server in region.settings.route_servers}
    items = []
    for server, answer in zip(region.route_servers.syncs, answers, strict=True):
        status = answer if isinstance(answer, dict) else {}
        items.append(
            RouteServer(
                name=server.name,
                address=addresses[server.name].address,
                control=addresses[server.name].control,
                reachable=isinstance(answer, dict),
                in_step=server.reachable and status.get("generation") == region.intent.generation,
                generation=status.get("generation"),
                error=server.error if isinstance(answer, dict) else str(answer),
                sessions=status.get("sessions") or [],
                status={k: v for k, v in status.items() if k != "sessions"},
            )
        )
    return RouteServers(items=items)


@router.get("/routes", responses=errors(502), summary="List routes")
async def index(
    region: Running,
    selected: Selected,
    table: Table = "adj-in",
    reason: QuarantineReason | None = None,
    route_server: RouteServerFilter = None,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Routes:
    """Return routes received from PEs, those of them in quarantine or in pools, or routes sent to PEs. `prefix`
    contains the route's address or prefix, `vcp` is a pool of its endpoint, `reason` the reason for its quarantine."""
    if reason is not None and table != "quarantine":
        raise invalid("reason", f"routes in {table} have no reason to be in quarantine")
    query = {"table": table, **selected} | ({"reason": reason} if reason else {})
    page = await server_page(
        region, route_server, lambda client, part: client.routes(query | part), "routes", limit, cursor
    )
    items = [{"route_server": name, **route} for name, answer in page.parts for route in answer.get("routes") or []]
    return Routes(items=items, next=page.next, truncated=page.next is not None, unreachable=page.unreachable)


@router.get("/routes/explain", responses=errors(502), summary="Explain a route")
async def explain(
    region: Running,
    source: Annotated[str, Query(alias="from", pattern=NAME_PATTERN, max_length=63)],
    to: Endpoint,
    nlri: Annotated[str | None, Query(max_length=2000)] = None,
    route_server: RouteServerFilter = None,
) -> Explanation:
    """Explain why the routes of one endpoint reached, or did not reach, the PE of another: each step, and where it
    ended."""
    for field, name in (("from", source), ("to", to)):
        if name not in region.intent.endpoints:
            raise unknown(field, "endpoint", name, region.intent.endpoints)
    query = {"from": source, "to": to} | ({"nlri": nlri} if nlri is not None else {})
    answers, unreachable = await ask(region, route_server, lambda client: client.explain(query))
    return Explanation(
        route_servers=[{"route_server": name, **answer} for name, answer in answers], unreachable=unreachable
    )


@router.get("/routes/diff", responses=errors(404, 502), summary="Compare routes with the model, or two generations")
async def diff(
    region: Running,
    peer: PeerFilter = None,
    earlier: Annotated[int | None, Query(alias="from", ge=0, le=2**63 - 1)] = None,
    later: Annotated[int | None, Query(alias="to", ge=0, le=2**63 - 1)] = None,
    route_server: RouteServerFilter = None,
    limit: Limit = 1000,
) -> Comparison:
    """Compare routes. With `peer` alone, each route server computes again, from its rule set and all announcements, the
    routes that the PE should have, and compares them with those it was sent. With `from` and `to`, it compares the rule
    sets of two generations, and shows the effect on the routes announced now (to or from `peer`, if given)."""
    if earlier is None and later is None:
        if peer is None:
            raise invalid("peer", "the name of a cloudlet is missing, or from and to, two generations")
        query = {"peer": peer}
    else:
        for field, generation in (("from", earlier), ("to", later)):
            if generation is None:
                raise invalid(field, "the other generation is missing")
        query = {"from": str(earlier), "to": str(later), "limit": str(limit)} | ({"peer": peer} if peer else {})
    answers, unreachable = await ask(region, route_server, lambda client: _compared(client, query))
    if answers and all(list(answer) == ["error"] for _, answer in answers):
        raise Problem(404, "; ".join(f"{name}: {answer['error']}" for name, answer in answers))
    return Comparison(
        route_servers=[{"route_server": name, **answer} for name, answer in answers], unreachable=unreachable
    )


async def _compared(client: RouteServerClient, query: dict[str, str]) -> Json:
    try:
        return await client.diff(query)
    except RefusedByRouteServer as refused:
        if refused.status != 404:
            raise
        return {"error": str(refused).partition(": ")[2]}


@router.get(
    "/routes/watch",
    response_class=StreamingResponse,
    responses=errors(502) | {200: {"content": streams.CONTENT, "description": "Server-sent events."}},
    summary="Watch routes",
)
async def watch(
    region: Running, still: Still, selected: Selected, route_server: RouteServerFilter = None
) -> StreamingResponse:
    """Stream the changes of routes from now on: `announced`, `withdrawn`, `quarantined`, `sent`, `unsent`, `withheld`
    (it does not fit into a message that the PE accepts), `held` (the PE cannot bear it), each with `route_server`.
    `watching`: a route server reports all changes from now on. `lost`: it reports none, until it is `watching` again.
    `cut`: the reader was too slow, and has missed changes."""
    await ask(region, route_server, lambda client: client.routes({**selected, "limit": "1"}))
    servers = [server for server in region.route_servers.syncs if route_server in (None, server.name)]
    return streams.respond(streams.while_allowed(watching(servers, selected, region.runtime.stopping), still))
