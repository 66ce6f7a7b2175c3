"""BGP sessions of PEs: their reset, and the refresh of their routes without one."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.server_pages import Question, asked, named, nobody
from controller.api.types import Name
from controller.api.verbatim import DescribedAs, Json
from controller.core.refusals import conflict, unknown
from controller.region import Region
from controller.routeservers.client import RefusedByRouteServer, TooSoon
from controller.runtime.problems import Problem
from controller.wire.rulesets import Carried

router = APIRouter(prefix="/api/v1/routes", tags=["routes"], dependencies=[Operator])

MOST_BYTES = 255
"""Maximum bytes of a text for the operators of a PE (RFC 9003)."""


class Reset(BaseModel):
    """A request to end the session of `peer` with one route server, or with all of them at once. `text` goes to the
    operators of the PE (RFC 9003)."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"peer": "c2", "route_server": "rs1", "text": "ticket 17"}]}
    )

    peer: Name
    route_server: Name | None = None
    text: str = Field(default="", max_length=MOST_BYTES)


class Refresh(BaseModel):
    """A request to exchange the routes of `peer` again without ending its session: it is asked for its routes (`in`,
    RFC 2918), sent its routes (`out`), or both; of one `family`, or of all."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"peer": "c2", "direction": "in"}]})

    peer: Name
    route_server: Name | None = None
    direction: Literal["in", "out", "both"] = "in"
    family: Carried | None = None


class ServerReset(TypedDict):
    """The session that `route_server` has ended, and the numbers of routes that it carried. `graceful`: both ends keep
    them until it is back (RFC 8538)."""

    route_server: str
    peer: str
    was: Literal["connect", "opensent", "openconfirm", "established"]
    graceful: bool
    prefixes_in: int
    prefixes_out: int


class ServerRefresh(TypedDict):
    """The families for which `route_server` has `asked` the PE, and those that it has `resent`. `enhanced`: both ends
    mark the beginning and the end (RFC 7313), so routes that are not repeated go."""

    route_server: str
    peer: str
    asked: list[Carried]
    resent: list[Carried]
    enhanced: bool


class NotDone(BaseModel):
    """The reason why a route server has done nothing."""

    route_server: str
    message: str


class ResetDone(BaseModel):
    """The sessions that ended, one entry per route server that had one."""

    route_servers: list[Annotated[Json, DescribedAs(ServerReset)]]
    refused: list[NotDone]
    unreachable: list[str]


class RefreshDone(BaseModel):
    """The refreshes that were begun, one entry per route server."""

    route_servers: list[Annotated[Json, DescribedAs(ServerRefresh)]]
    refused: list[NotDone]
    unreachable: list[str]


@router.post("/reset", responses=errors(409, 502), summary="Reset a session")
async def reset(region: Running, body: Reset) -> ResetDone:
    """End a PE's BGP session (Cease, Administrative Reset); the PE or the route server opens it again. Until then the
    PE has no routes from there, nor anybody its routes, unless both ends restart gracefully; a PE with a session at
    another route server keeps what that one sends. With all sessions at once, its LANs are cut off meanwhile."""
    if len(body.text.encode()) > MOST_BYTES:
        raise Problem(422, f"text: {len(body.text.encode())} bytes in UTF-8 are more than {MOST_BYTES} (RFC 9003)")
    return ResetDone(**await _told(region, body, lambda client: client.reset(body.peer, body.text)))


@router.post("/refresh", responses=errors(409, 502), summary="Exchange a PE's routes again")
async def refresh(region: Running, body: Refresh) -> RefreshDone:
    """Ask a PE for its routes again, or send it its routes again, at most once in ten seconds for each family. A PE
    that has not announced the capability for it cannot be asked."""
    return RefreshDone(**await _told(region, body, lambda c: c.refresh(body.peer, body.direction, body.family)))


async def _told(region: Region, body: Reset | Refresh, question: Question) -> Json:
    """Tell the route servers to do something with a PE's session. Raises Problem if none of them has done it."""
    if body.peer not in region.intent.cloudlets:
        raise unknown("peer", "cloudlet", body.peer, region.intent.cloudlets)
    servers = named(region, body.route_server)
    if not servers and body.route_server is None:
        raise conflict("no route server is configured")
    if not servers:
        raise unknown("route_server", "route server", body.route_server or "", [s.name for s in named(region, None)])
    done, refused, away = list[Json](), dict[str, RefusedByRouteServer](), dict[str, Exception]()
    for server in servers:
        match await asked(server, question):
            case RefusedByRouteServer() as why:
                refused[server.name] = why
            case Exception() as why:
                away[server.name] = why
            case answer:
                done.append({"route_server": server.name, **answer})
    if not done:
        raise _nothing(refused) if refused else nobody(away)
    return {
        "route_servers": done,
        "refused": [NotDone(route_server=name, message=_reason(why)) for name, why in refused.items()],
        "unreachable": list(away),
    }


def _nothing(refused: dict[str, RefusedByRouteServer]) -> Problem:
    """Return the problem that no route server has done anything."""
    text = "; ".join(f"{name}: {_reason(why)}" for name, why in refused.items())
    soon = [why.seconds for why in refused.values() if isinstance(why, TooSoon)]
    if soon:
        return Problem(429, f"{text}.", headers={"Retry-After": str(max(soon))})
    return Problem(409, f"{text}.")


def _reason(why: RefusedByRouteServer) -> str:
    """Return the route server's message without the request."""
    return str(why).partition(": ")[2] or str(why)
