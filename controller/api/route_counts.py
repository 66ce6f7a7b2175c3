"""The numbers of routes of each PE, by reason and family."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel

from controller.api.access import Operator, Running
from controller.api.names import PeerFilter, RouteServerFilter
from controller.api.openapi import errors
from controller.api.server_pages import Cursor, Limit, server_page
from controller.api.verbatim import DescribedAs, Json, continuing
from controller.wire.route_counts import PeerRouteCounts

router = APIRouter(prefix="/api/v1/routes", tags=["routes"], dependencies=[Operator])


@continuing(PeerRouteCounts)
class ServerPeerRouteCounts(PeerRouteCounts):
    """`route_server` counts its own routes."""

    route_server: str


class RouteNumbers(BaseModel):
    """The numbers of PEs, one route server after the other. `next` is the cursor of the following page, null at the
    end; `unreachable` names the route servers that did not answer."""

    items: list[Annotated[Json, DescribedAs(ServerPeerRouteCounts)]]
    next: str | None = None
    unreachable: list[str]


@router.get("/counts", responses=errors(502), summary="Count routes")
async def counts(
    region: Running,
    peer: PeerFilter = None,
    route_server: RouteServerFilter = None,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> RouteNumbers:
    """Return, for each PE, how many routes it announced, how many of them are accepted, or in quarantine for each
    reason, how many it is sent, and totals since the route server started. Route servers keep these numbers, so they
    cost no walk through the tables."""
    query = {"peer": peer} if peer else {}
    page = await server_page(
        region, route_server, lambda client, part: client.counts(query | part), "peers", limit, cursor
    )
    items = [{"route_server": name, **peer} for name, answer in page.parts for peer in answer.get("peers") or []]
    return RouteNumbers(items=items, next=page.next, unreachable=page.unreachable)
