"""Routes held back from PEs that ended their sessions because of them (docs/network/poison.md)."""

from typing import Annotated, NotRequired

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from controller.api.access import Operator, Running
from controller.api.names import PeerFilter, RouteServerFilter
from controller.api.openapi import errors
from controller.api.server_pages import Cursor, Limit, ask, server_page
from controller.api.types import Name
from controller.api.verbatim import DescribedAs, Json, continuing
from controller.core.refusals import unknown
from controller.routeservers.client import RefusedByRouteServer, RouteServerClient
from controller.runtime.problems import Problem
from controller.wire.held_routes import HeldRoutes

router = APIRouter(prefix="/api/v1/routes", tags=["routes"], dependencies=[Operator])


@continuing(HeldRoutes)
class ServerHeldRoutes(HeldRoutes):
    """`route_server` is its name."""

    route_server: str


class Held(BaseModel):
    """The routes held back, one entry per route server of this page: `routes` with their verdict, `sources` (PEs none
    of whose routes are sent), and families sent `apart`, one route a message; the last two are with a route server's
    first routes. `next` is the cursor of the following page, null at the end."""

    route_servers: list[Annotated[Json, DescribedAs(ServerHeldRoutes)]]
    next: str | None = None
    unreachable: list[str]


class Release(BaseModel):
    """A request to send routes again. `peer` is the PE from which they are held back, `nlri` one route as in `GET
    /api/v1/routes/held`; without it, all of them."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"peer": "c2"}]})

    peer: Name
    nlri: str | None = Field(default=None, min_length=1, max_length=2000)


class ServerReleased(TypedDict):
    """The numbers of routes and of PEs (`sources`) that `route_server` has released. `peer` is absent if there were
    none."""

    route_server: str
    peer: NotRequired[str]
    routes: int
    sources: int


class Released(BaseModel):
    """The numbers of released routes, one entry per route server that answered."""

    route_servers: list[Annotated[Json, DescribedAs(ServerReleased)]]
    unreachable: list[str]


@router.get("/held", responses=errors(502), summary="List routes that are held back")
async def held(
    region: Running,
    peer: PeerFilter = None,
    route_server: RouteServerFilter = None,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Held:
    """Return routes for which a PE has ended its session, or may have. Each is held back from that PE alone."""
    query = {"peer": peer} if peer else {}
    page = await server_page(
        region, route_server, lambda client, part: client.held(query | part), "routes", limit, cursor
    )
    servers = [{"route_server": name, **part} for name, part in page.parts]
    for server in servers:
        server.pop("next", None)
    return Held(route_servers=servers, next=page.next, unreachable=page.unreachable)


@router.post("/release", responses=errors(404, 502), summary="Send a PE again what is held back from it")
async def release(region: Running, body: Release) -> Released:
    """Send a repaired PE its routes again. If it ends its session again, the route is held back again, as the first
    time."""
    if body.peer not in region.intent.cloudlets:
        raise unknown("peer", "cloudlet", body.peer, region.intent.cloudlets)

    async def released(client: RouteServerClient) -> Json:
        try:
            return await client.release(body.peer, body.nlri)
        except RefusedByRouteServer as refused:
            if refused.status != 404:
                raise
            return {"routes": 0, "sources": 0}

    answers, unreachable = await ask(region, None, released)
    if not any(answer["routes"] or answer["sources"] for _, answer in answers):
        what = f"{body.nlri} is not" if body.nlri else "Nothing is"
        raise Problem(404, f"{what} held back from {body.peer}.")
    what = body.nlri or "everything"
    region.runtime.event_log.note(
        "poison-released", body.peer, f"an operator sends {body.peer} again what is held back: {what}"
    )
    return Released(
        route_servers=[{"route_server": name, **answer} for name, answer in answers], unreachable=unreachable
    )
