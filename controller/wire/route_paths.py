"""All announcements of one route, as a route server shows them (Go: `routeserver/internal/lookingglass/paths.go`). They
describe JSON that the controller passes on (`controller/wire/route_tables.py`)."""

from datetime import datetime
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from controller.wire.route_tables import HeldBack, Route, RouteAttributes
from controller.wire.rulesets import Carried


class RouteRecipient(TypedDict):
    """The PE `peer`, which is to have the route with the route targets `rts`. `sent_at` is absent until the
    announcement is written, or if it is `withheld` or `held` back."""

    peer: str
    rts: list[str]
    sent_at: NotRequired[datetime]
    withheld: NotRequired[Literal["message-size"]]
    held: NotRequired[HeldBack]


class SentForm(TypedDict):
    """The attributes with which the PEs `to` are sent the route; those of another AS (`external`) get others."""

    external: bool
    next_hop: str
    attributes: RouteAttributes
    to: list[RouteRecipient]


class RoutePath(Route):
    """An announcement of the route by the PE `peer`, with all attributes as they were received. `pools` are those of
    its endpoint, and `sent` says to whom it goes."""

    state: Literal["accepted", "quarantined"]
    pools: list[str]
    sent: list[SentForm]


class WithdrawnPath(TypedDict):
    """A withdrawal of the route, as far as it is remembered."""

    peer: str
    family: Carried
    nlri: str
    endpoint: NotRequired[str]
    at: datetime | None


class RoutePaths(TypedDict):
    """The announcements of a route, by announcing PE: up to 1,000 and 8 MiB (`truncated`)."""

    paths: list[RoutePath]
    withdrawn: list[WithdrawnPath]
    truncated: bool
