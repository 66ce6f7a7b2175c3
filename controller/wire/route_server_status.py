"""The status of a route server, and of its BGP sessions (Go: `routeserver/internal/control/status.go`). They describe
JSON that the controller passes on (`controller/wire/route_tables.py`). All of it may be absent: an earlier release does
not have every field."""

from datetime import datetime
from typing import Literal, Required

from typing_extensions import TypedDict


class SessionStatus(TypedDict, total=False):
    """A BGP session as the route server sees it: the number of the peer's `endpoints` (an agent's PE has no session
    before the first one), its state by RFC 4271, the routes received and sent (prefixes_in,
    prefixes_out), those in quarantine, held back, and kept from a lost session (`stale`, until `stale_until`;
    `long_lived` beyond the restart time, from `long_lived_from`). `bytes` is the memory of its routes, `backlog` counts
    the routes that wait to be written, `last_error` says how the session last ended."""

    peer: Required[str]
    address: str
    endpoints: int
    state: Required[Literal["idle", "connect", "active", "opensent", "openconfirm", "established"]]
    since: datetime | None
    families: list[str] | None
    prefixes_in: int
    prefixes_out: int
    quarantined: int
    bytes: int
    stale: int
    stale_until: datetime
    long_lived: int
    long_lived_from: datetime
    held: int
    backlog: int
    last_error: str


class StationStatus(TypedDict):
    """A BMP station (RFC 7854) that the route server reports to. `cut_off` counts the times that it was too slow;
    `backlog` counts the entries that wait."""

    address: str
    state: Literal["connecting", "waiting", "copying", "monitoring"]
    since: datetime
    connections: int
    cut_off: int
    messages: int
    bytes: int
    backlog: int
    last_error: str


class TwinStatus(TypedDict):
    """The other route server of the pair, as last seen. `error` says why it is not `reachable`."""

    name: str
    generation: int
    in_touch: bool
    reachable: bool
    error: str


class DroppedSegments(TypedDict, total=False):
    """TCP segments that the kernel has dropped, of any neighbour (RFC 2385): `unsigned` despite a key, signed with a
    `wrong` one, or signed without a known one (`unexpected`)."""

    unsigned: int
    unexpected: int
    wrong: int


class RouteServerCounters(TypedDict, total=False):
    """Totals since the route server started."""

    updates_received: int
    routes_announced: int
    routes_withdrawn: int
    treat_as_withdraw: int
    loops: int
    ignored: int
    changes: int
    replacements: int
    routes_sent: int
    withdrawals_sent: int


class RouteServerStatus(TypedDict, total=False):
    """The status of a route server; empty if it does not answer. `loaded`: it has a rule set; `confirmed`: the
    controller has confirmed it; `in_touch`: it heard from the controller within the last 5 s; `serving`: BGP is open;
    `restarting`: it waits for PEs after its own restart; `permits`: its release knows announce permits. `confirm_by`
    and `fallback` (a generation) are there while a change is on trial, `twin` if the route server has one."""

    name: str
    version: str
    router_id: str
    generation: int
    loaded: bool
    confirmed: bool
    in_touch: bool
    serving: bool
    restarting: bool
    permits: bool
    tcp_md5: DroppedSegments
    started_at: datetime
    bmp: list[StationStatus]
    counters: RouteServerCounters
    twin: TwinStatus
    confirm_by: datetime
    fallback: int
