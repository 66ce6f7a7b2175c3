"""The numbers of a PE's routes, as a route server counts them (Go: `routeserver/internal/control/counts.go`). They
describe JSON that the controller passes on (`controller/wire/route_tables.py`)."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from controller.wire.route_tables import HeldVerdict, QuarantineReason
from controller.wire.rulesets import Carried

ByFamily = dict[Carried, int]


class PresentCounts(TypedDict):
    """The routes there are now: announced by the PE (`in`), of them `accepted` or `quarantined` by reason, `stale` and
    `long_lived`; and sent to the PE (`out`), `withheld` or `held` back from it. `bytes` is the memory of its routes."""

    in_: Annotated[ByFamily, Field(alias="in")]
    accepted: ByFamily
    quarantined: dict[QuarantineReason, int]
    out: ByFamily
    withheld: ByFamily
    held: dict[HeldVerdict, int]
    stale: int
    long_lived: int
    bytes: int


class TotalCounts(TypedDict):
    """Totals since the route server started, over all sessions: routes in announcements and withdrawals by the PE and
    to it; announcements `repeated` without a change, withdrawals ignored for the lack of a route, UPDATEs treated as
    withdrawals (RFC 7606) and their routes, UPDATEs with a loop, routes `quarantined` on arrival; sessions that the PE
    ended for a route, and routes found to be why."""

    sessions: int
    sessions_lost: int
    updates_received: int
    routes_announced: ByFamily
    routes_withdrawn: ByFamily
    routes_sent: ByFamily
    withdrawals_sent: ByFamily
    repeated: int
    withdrawals_ignored: int
    treat_as_withdraw: int
    treat_as_withdraw_routes: int
    as_loops: int
    originator_loops: int
    cluster_loops: int
    quarantined: dict[QuarantineReason, int]
    poisoned_sessions: int
    poison_routes: int


class PeerRouteCounts(TypedDict):
    """The numbers of the PE `peer`, and the state of its session."""

    peer: str
    state: Literal["idle", "connect", "active", "opensent", "openconfirm", "established"]
    routes: PresentCounts
    totals: TotalCounts
