"""The looking glass: what route servers received, sent and keep in quarantine, and why a route went where it did."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, IPvAnyNetwork

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.core.names import NAME_PATTERN
from controller.core.refusals import invalid
from controller.problems import Problem
from controller.propagation import Propagation
from controller.region import Region
from controller.routeservers import OtherGeneration, RefusedByRouteServer, RouteServerClient, Unreachable
from controller.wire.rulesets import Carried

router = APIRouter(prefix="/api/v1", tags=["routes"], dependencies=[Operator])

NameFilter = Annotated[str | None, Query(pattern=NAME_PATTERN, max_length=63)]
Endpoint = Annotated[str, Query(pattern=NAME_PATTERN, max_length=63)]
Json = dict[str, Any]


class Session(BaseModel):
    """A BGP session as the route server sees it; further fields are the route server's."""

    model_config = ConfigDict(extra="allow")

    peer: str
    state: str


class RouteServer(BaseModel):
    """`in_step`: reachable and at the controller's generation. `error` says why not."""

    name: str
    address: str
    control: str
    reachable: bool
    in_step: bool
    generation: int | None
    error: str
    sessions: list[Session]
    status: Json


class RouteServers(BaseModel):
    """All route servers: there are few, so there is one page."""

    items: list[RouteServer]
    next: str | None = None


class Routes(BaseModel):
    """Routes as the route servers show them, each with `route_server`. `truncated`: there are more than `limit`.
    `unreachable` names the route servers that could not be asked."""

    items: list[Json]
    next: str | None = None
    truncated: bool
    unreachable: list[str]


class Explanation(BaseModel):
    """One explanation per route server that could be asked, each with `route_server`."""

    route_servers: list[Json]
    unreachable: list[str]


class Comparison(BaseModel):
    """One comparison per route server that could be asked, each with `route_server`, `compared` (routes) and
    `differences`, of `kind` missing, unexpected or route-targets."""

    route_servers: list[Json]
    unreachable: list[str]


@router.get("/route-servers", responses=errors(), summary="List route servers")
async def servers(region: Running) -> RouteServers:
    """With their BGP sessions, as they are now."""
    answers = await asyncio.gather(*(_asked(s, lambda client: client.status()) for s in region.changes.route_servers))
    addresses = {server.name: server for server in region.settings.route_servers}
    items = []
    for server, answer in zip(region.changes.route_servers, answers, strict=True):
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
                sessions=[Session.model_validate(session) for session in status.get("sessions") or []],
                status={k: v for k, v in status.items() if k != "sessions"},
            )
        )
    return RouteServers(items=items)


@router.get("/routes", responses=errors(502), summary="List routes")
async def index(
    region: Running,
    table: Literal["adj-in", "quarantine", "adj-out"] = "adj-in",
    route_server: NameFilter = None,
    peer: NameFilter = None,
    endpoint: NameFilter = None,
    vcp: NameFilter = None,
    prefix: IPvAnyNetwork | None = None,
    mac: Annotated[str | None, Query(pattern=r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$")] = None,
    family: Carried | None = None,
    rt: Annotated[str | None, Query(pattern=r"^[0-9.]+:[0-9]+$", max_length=30)] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Routes:
    """What was received from PEs, what is in quarantine, or what was sent to PEs. `prefix` is around the route's
    address or prefix, `vcp` a pool of its endpoint."""
    query = {"table": table, "peer": peer, "endpoint": endpoint, "family": family, "rt": rt, "limit": str(limit)}
    query |= {"pool": vcp, "prefix": None if prefix is None else str(prefix), "mac": mac}
    asked = {k: v for k, v in query.items() if v is not None}
    answers, unreachable = await _ask(region, route_server, lambda client: client.routes(asked))
    items = [{"route_server": name, **route} for name, answer in answers for route in answer.get("routes") or []]
    truncated = len(items) > limit or any(answer.get("truncated") for _, answer in answers)
    return Routes(items=items[:limit], truncated=truncated, unreachable=unreachable)


@router.get("/routes/explain", responses=errors(502), summary="Explain a route")
async def explain(
    region: Running,
    source: Annotated[str, Query(alias="from", pattern=NAME_PATTERN, max_length=63)],
    to: Endpoint,
    nlri: Annotated[str | None, Query(max_length=200)] = None,
    route_server: NameFilter = None,
) -> Explanation:
    """Why the routes of one endpoint reached, or did not reach, the PE of another: each step, and where it ended."""
    for field, name in (("from", source), ("to", to)):
        if name not in region.intent.endpoints:
            raise invalid(field, f"there is no endpoint {name!r}")
    query = {"from": source, "to": to} | ({"nlri": nlri} if nlri is not None else {})
    answers, unreachable = await _ask(region, route_server, lambda client: client.explain(query))
    return Explanation(
        route_servers=[{"route_server": name, **answer} for name, answer in answers], unreachable=unreachable
    )


@router.get("/routes/diff", responses=errors(502), summary="Compare what a PE was sent with the model")
async def diff(
    region: Running,
    peer: Annotated[str, Query(pattern=NAME_PATTERN, max_length=63)],
    route_server: NameFilter = None,
) -> Comparison:
    """Each route server works out anew, from its rule set and all announcements, what the PE is to have."""
    if peer not in region.intent.cloudlets:
        raise invalid("peer", f"there is no cloudlet {peer!r}")
    answers, unreachable = await _ask(region, route_server, lambda client: client.diff(peer))
    return Comparison(
        route_servers=[{"route_server": name, **answer} for name, answer in answers], unreachable=unreachable
    )


Question = Callable[[RouteServerClient], Awaitable[Json]]


async def _ask(region: Region, only: str | None, question: Question) -> tuple[list[tuple[str, Json]], list[str]]:
    """Asks all route servers, or the one named, at the same time."""
    asked = [server for server in region.changes.route_servers if only in (None, server.name)]
    if not asked and only is not None:
        raise invalid("route_server", f"there is no route server {only!r}")
    answers = await asyncio.gather(*(_asked(server, question) for server in asked))
    given = [(s.name, a) for s, a in zip(asked, answers, strict=True) if isinstance(a, dict)]
    away = [s.name for s, a in zip(asked, answers, strict=True) if not isinstance(a, dict)]
    if asked and not given:
        reasons = "; ".join(f"{s.name}: {a}" for s, a in zip(asked, answers, strict=True))
        raise Problem(502, f"No route server could be asked ({reasons}).")
    return given, away


async def _asked(server: Propagation, question: Question) -> Json | Exception:
    try:
        return await question(server.client)
    except RefusedByRouteServer as refused:
        if refused.status == 400:
            raise Problem(422, str(refused)) from refused
        return refused
    except (Unreachable, OtherGeneration) as error:
        return error
