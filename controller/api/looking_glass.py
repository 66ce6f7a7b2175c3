"""The answers of the looking glass: those of the route servers (`controller/wire/route_tables.py` and its neighbours),
each with the name of the route server that gave it."""

from typing import Annotated, Literal

from pydantic import BaseModel
from typing_extensions import TypedDict

from controller.api.verbatim import DescribedAs, Json, continuing
from controller.wire.route_comparisons import GenerationComparison, PeerComparison
from controller.wire.route_explanations import PathExplanation
from controller.wire.route_server_status import RouteServerStatus, SessionStatus
from controller.wire.route_tables import Route, RouteChange


class RouteServer(BaseModel):
    """A route server. `in_step`: reachable and at the controller's generation. `error` says why not."""

    name: str
    address: str
    control: str
    reachable: bool
    in_step: bool
    generation: int | None
    error: str
    sessions: list[Annotated[Json, DescribedAs(SessionStatus)]]
    status: Annotated[Json, DescribedAs(RouteServerStatus)]


class RouteServers(BaseModel):
    """All route servers, on one page, because there are few."""

    items: list[RouteServer]
    next: str | None = None


@continuing(Route)
class ListedRoute(Route):
    """`route_server` has it in this table."""

    route_server: str


class Routes(BaseModel):
    """Routes as the route servers show them, one route server after the other. `next` is the cursor of the following
    page, null at the end, and `truncated` means that there is one. A page may have fewer than `limit` items.
    `unreachable` names the route servers that did not answer."""

    items: list[Annotated[Json, DescribedAs(ListedRoute)]]
    next: str | None = None
    truncated: bool
    unreachable: list[str]


@continuing(PathExplanation)
class ServerExplanation(PathExplanation):
    """`route_server` explains its own routes."""

    route_server: str


class Explanation(BaseModel):
    """One explanation per route server that answered."""

    route_servers: list[Annotated[Json, DescribedAs(ServerExplanation)]]
    unreachable: list[str]


@continuing(PeerComparison)
class ServerPeerComparison(PeerComparison):
    """`route_server` compares its own routes."""

    route_server: str


@continuing(GenerationComparison)
class ServerGenerationComparison(GenerationComparison):
    """`route_server` compares its own routes."""

    route_server: str


class NotCompared(TypedDict):
    """`route_server` compares nothing, as it does not know the PE, or one of the generations (any longer)."""

    route_server: str
    error: str


class Comparison(BaseModel):
    """One comparison per route server that answered: of a PE's routes, or of two generations."""

    route_servers: list[Annotated[Json, DescribedAs(ServerPeerComparison | ServerGenerationComparison | NotCompared)]]
    unreachable: list[str]


@continuing(RouteChange)
class WatchedChange(RouteChange):
    """`route_server` reports the change of its own table."""

    route_server: str


class WatchBegun(TypedDict):
    """`route_server` reports all changes from now on."""

    route_server: str
    kind: Literal["watching"]


class WatchLost(TypedDict):
    """`route_server` reports no changes, until it is `watching` again; `text` says why."""

    route_server: str
    kind: Literal["lost"]
    text: str


class WatchCut(TypedDict):
    """The reader was too slow: it has missed changes of `route_server`."""

    route_server: str
    kind: Literal["cut"]
    text: str
