"""Comparisons of a route server: of a PE's routes with those that it should have (Go:
`routeserver/internal/lookingglass/diff.go`), and of two generations (`generations.go` beside it). They describe JSON
that the controller passes on (`controller/wire/route_tables.py`)."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from controller.wire.rulesets import Carried, Endpoint, Peer


class RouteDifference(TypedDict):
    """A route that the PE was sent and should not have (`unexpected`), or the reverse (`missing`), or that it has with
    other route targets; or one that is held back from it (`held-back`). `peer` is the PE that announced it, `expected`
    and `found` are the two lists of route targets."""

    kind: Literal["missing", "unexpected", "route-targets", "held-back"]
    family: Carried
    nlri: str
    peer: str
    expected: list[str]
    found: list[str]


class WithheldRoute(TypedDict):
    """A route of the PE `peer` that the compared PE should have, and that does not fit into a message that it
    accepts."""

    family: Carried
    nlri: str
    peer: str
    reason: Literal["message-size"]


class PeerCounts(TypedDict):
    """The numbers of all differences, of routes held back, and of withheld ones, listed or not."""

    differences: int
    held: int
    withheld: int


class PeerComparison(TypedDict):
    """The comparison of the routes that the PE `peer` was sent with those that follow from the rule set `generation`
    and all announcements. `compared` counts the routes of both. Neither `held` nor `withheld` routes are differences.
    Each list has up to 1,000 entries; `counts` has the totals, and `truncated` means that not all are listed. A PE
    without a `session` should have no routes."""

    peer: str
    at: datetime
    generation: int
    session: bool
    compared: int
    differences: list[RouteDifference]
    held: list[RouteDifference]
    withheld: list[WithheldRoute]
    counts: PeerCounts
    truncated: bool


class PeerEntry(TypedDict):
    """A PE that is in one of the two rule sets only, or differs; null where it is not."""

    kind: Literal["added", "removed", "changed"]
    from_: Annotated[Peer | None, Field(alias="from")]
    to: Peer | None


class EndpointEntry(TypedDict):
    """An endpoint that is in one of the two rule sets only, or differs; null where it is not."""

    kind: Literal["added", "removed", "changed"]
    from_: Annotated[Endpoint | None, Field(alias="from")]
    to: Endpoint | None


class PoolEntry(TypedDict):
    """A pool that is in one of the two rule sets only."""

    kind: Literal["added", "removed"]
    name: str


class MemberEntry(TypedDict):
    """An endpoint that joined or left a pool between the two generations."""

    kind: Literal["joined", "left"]
    vcp: str
    endpoint: str


class RouteEntry(TypedDict):
    """A route of the PE `peer`, and of `endpoint`, that the PE `to` has in one of the two generations only, or with
    other route targets: `from_rts` in the first one, `to_rts` in the second."""

    kind: Literal["appears", "disappears", "route-targets"]
    to: str
    peer: str
    endpoint: str
    family: Carried
    nlri: str
    from_rts: list[str]
    to_rts: list[str]


class RouteCounts(TypedDict):
    """The numbers of all routes by kind, listed or not."""

    appears: int
    disappears: int
    route_targets: Annotated[int, Field(alias="route-targets")]


class GenerationComparison(TypedDict):
    """The differences between the rule sets of two generations, and their effect on the routes that are announced at
    the time `at`, when `generation` is in force. `truncated` means that `routes` does not list all."""

    from_: Annotated[int, Field(alias="from")]
    to: int
    at: datetime
    generation: int
    peers: list[PeerEntry]
    endpoints: list[EndpointEntry]
    vcps: list[PoolEntry]
    members: list[MemberEntry]
    counts: RouteCounts
    routes: list[RouteEntry]
    truncated: bool
