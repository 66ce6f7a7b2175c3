"""Routes as a route server shows them (Go: `routeserver/internal/lookingglass/routes.go`): lines of its tables, and the
changes that it streams.

The controller passes them on as they are, so these types describe JSON and parse none. They are typed dictionaries,
since a field that is absent is not one that is null. A route server of a later release may send further fields."""

from datetime import datetime
from typing import Literal, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from controller.wire.rulesets import Carried

Table = Literal["adj-in", "quarantine", "pools", "adj-out"]
"""`adj-in`: routes that PEs announced; `quarantine`: those that no PE gets; `pools`: those accepted in pools;
`adj-out`: those that PEs were sent."""

QuarantineReason = Literal[
    "unknown-rt",
    "foreign-rt",
    "no-rt",
    "ambiguous",
    "duplicate",
    "family",
    "redirect",
    "loop",
    "limit",
    "foreign-rd",
    "foreign-ve",
    "labels",
    "next-hop",
    "originator",
    "foreign-mac",
    "foreign-address",
    "foreign-prefix",
    "segment",
    "route-type",
    "flowspec",
]
"""Reasons for a route's quarantine (`routeserver/docs/control-api.md`)."""

HeldVerdict = Literal["poison", "suspected"]


class HeldBack(TypedDict):
    """The reason for which a route is held back from a PE. `verdict`: the PE ended its session for the route
    (`poison`), or may have, and the route is to be tried by itself (`suspected`). `why` is how the session ended.
    `until` is absent while the route waits to be tried."""

    verdict: HeldVerdict
    why: str
    since: NotRequired[datetime]
    until: NotRequired[datetime]


@with_config(ConfigDict(extra="allow"))
class RouteAttributes(TypedDict):
    """Path attributes by their names in lower case: the three below, and each other attribute of the announcement as
    GoBGP writes it in JSON, with its `type` and `value`; a text if it cannot be read."""

    originator_id: NotRequired[str]
    cluster_list: NotRequired[list[str]]
    extended_communities: NotRequired[list[str]]


class RouteDetails(TypedDict):
    """The parts of an NLRI. VPLS: `ve_id`, `offset`, `size` and `label_base` (RFC 4761). EVPN: `type` of the route (RFC
    7432), and of `tag`, `esi` (hex), `mac`, `ip`, `prefix`, `gateway` and `vni` those that the type has. VPN: `prefix`
    and `label`. Traffic filters: `filter`, in words."""

    ve_id: NotRequired[int]
    offset: NotRequired[int]
    size: NotRequired[int]
    label_base: NotRequired[int]
    type: NotRequired[int]
    tag: NotRequired[int]
    esi: NotRequired[str]
    mac: NotRequired[str]
    ip: NotRequired[str]
    prefix: NotRequired[str]
    gateway: NotRequired[str]
    vni: NotRequired[int]
    label: NotRequired[int]
    filter: NotRequired[str]


class Route(TypedDict):
    """A route in one table of a route server. `peer` is the PE that announced it, `to` the PE that it is sent to
    (adj-out), `pool` the pool (pools). `nlri` names the route, and `key` (hex) is the same for all its versions. `rts`
    are its route targets. `sent_at` is absent until the announcement is written. `reason`: why it is in quarantine.
    `withheld`: it does not fit into a message that the PE accepts. `held`: it is held back from the PE. `stale`: it is
    from before the PE's session was lost, and kept until `stale_until` at most; `long_lived`: it is long-lived stale
    (RFC 9494)."""

    table: Table
    family: Carried
    nlri: str
    key: str
    endpoint: NotRequired[str]
    peer: str
    to: NotRequired[str]
    pool: NotRequired[str]
    rd: str
    rts: list[str]
    next_hop: str
    received_at: datetime | None
    sent_at: NotRequired[datetime]
    reason: NotRequired[QuarantineReason]
    withheld: NotRequired[Literal["message-size"]]
    stale: NotRequired[bool]
    stale_until: NotRequired[datetime]
    long_lived: NotRequired[bool]
    held: NotRequired[HeldBack]
    attributes: RouteAttributes
    details: RouteDetails


class RouteChange(Route):
    """A change of a route, at the time `at`. `kind` is the name of its event: the PE announced the route (`announced`),
    or withdrew it; the route came into quarantine; it was `sent` to the PE `to`, or its withdrawal is queued for it
    (`unsent`); it does not fit into a message that this PE accepts (`withheld`), or is `held` back from it."""

    at: datetime
    kind: Literal["announced", "withdrawn", "quarantined", "sent", "unsent", "withheld", "held"]
