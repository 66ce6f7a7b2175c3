"""The looking glass: routes that route servers received, sent and keep in quarantine, and the reasons for each route's
way."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import IPvAnyNetwork
from starlette.responses import StreamingResponse

from controller.api import streams
from controller.api.access import Operator, Running, Still
from controller.api.looking_glass import Comparison, Explanation, Routes, RouteServer, RouteServers
from controller.api.names import EndpointFilter, PeerFilter, RouteServerFilter, VcpFilter
from controller.api.openapi import errors
from controller.api.pages import after_pair, not_ours, write_cursor
from controller.api.verbatim import Json
from controller.api.watching import watching
from controller.core.refusals import invalid, unknown
from controller.region import Region
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, RouteServerClient, Unreachable
from controller.routeservers.sync import RouteServerSync
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
    answers = await asyncio.gather(*(_asked(s, lambda client: client.status()) for s in region.route_servers.syncs))
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
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    cursor: Annotated[str | None, Query(max_length=600, description="`next` of the page before.")] = None,
) -> Routes:
    """Return routes received from PEs, those of them in quarantine or in pools, or routes sent to PEs. `prefix`
    contains the route's address or prefix, `vcp` is a pool of its endpoint, `reason` the reason for its quarantine."""
    if reason is not None and table != "quarantine":
        raise invalid("reason", f"routes in {table} have no reason to be in quarantine")
    name, place = after_pair(cursor)
    servers = _named(region, route_server)
    if name and name not in {server.name for server in servers}:
        raise not_ours()
    asked = {"table": table, **selected} | ({"reason": reason} if reason else {})
    away: dict[str, Exception] = {}
    items: list[Json] = []
    following = None
    for server in servers:
        if server.name < name:
            continue
        if len(items) == limit:
            following = write_cursor(f"{server.name} ")
            break
        query = asked | {"limit": str(limit - len(items))}
        if server.name == name and place:
            query["cursor"] = place
        answer = await _asked(server, lambda client, query=query: client.routes(query))  # type: ignore[misc]
        if isinstance(answer, Exception):
            away[server.name] = answer
            continue
        items += [{"route_server": server.name, **route} for route in answer.get("routes") or []]
        if answer.get("next"):
            following = write_cursor(f"{server.name} {answer['next']}")
            break
    if away and len(away) == len(servers):
        raise Problem(502, f"No route server could be asked ({'; '.join(f'{n}: {e}' for n, e in away.items())}).")
    return Routes(items=items, next=following, truncated=following is not None, unreachable=list(away))


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
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
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


Question = Callable[[RouteServerClient], Awaitable[Json]]


def _named(region: Region, only: str | None) -> list[RouteServerSync]:
    """Return all route servers, or only the one named, in the order of their names."""
    return sorted((s for s in region.route_servers.syncs if only in (None, s.name)), key=lambda server: server.name)


async def ask(region: Region, only: str | None, question: Question) -> tuple[list[tuple[str, Json]], list[str]]:
    """Ask all route servers, or only the one named, at the same time. Raises Problem if none answers."""
    asked = _named(region, only)
    answers = await asyncio.gather(*(_asked(server, question) for server in asked))
    given = [(s.name, a) for s, a in zip(asked, answers, strict=True) if isinstance(a, dict)]
    away = [s.name for s, a in zip(asked, answers, strict=True) if not isinstance(a, dict)]
    if asked and not given:
        reasons = "; ".join(f"{s.name}: {a}" for s, a in zip(asked, answers, strict=True))
        raise Problem(502, f"No route server could be asked ({reasons}).")
    return given, away


async def _asked(server: RouteServerSync, question: Question) -> Json | Exception:
    try:
        return await question(server.client)
    except RefusedByRouteServer as refused:
        if refused.status == 400:
            raise Problem(422, str(refused)) from refused
        return refused
    except (Unreachable, OtherGeneration) as error:
        return error
