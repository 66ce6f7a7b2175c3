"""The rule set and its changes, as the route server's control API takes them (`routeserver/README.md`, Control API).

The Go counterpart is `routeserver/internal/ruleset`; `tests/unit/wire` holds golden JSON that both sides read.
"""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.model import Message

Family = Literal["l2vpn-vpls", "l2vpn-evpn", "vpnv4", "vpnv6"]
"""The families that an endpoint's routes can be of (RFC 4761, 7432, 4364, 4659)."""

Carried = Family | Literal["ipv4-flowspec", "ipv6-flowspec", "ipv4-flowspec-vpn", "ipv6-flowspec-vpn"]
"""These, and the traffic filters (RFC 8955, 8956) that may go beside them with the endpoint's route target."""


class Peer(Message):
    """A PE: its name (the cloudlet's) and the address its BGP sessions come from. `ttl_security` is how many hops away
    it may be (GTSM, RFC 5082); without it the route server's own setting holds."""

    name: str
    address: str
    asn: int
    ttl_security: int | None = Field(default=None, ge=1, le=255, exclude_if=lambda hops: hops is None)


class Permits(Message):
    """What the routes of an endpoint may say besides its route target; all else is quarantined. They have its route
    distinguisher and send traffic to `next_hops` alone, their originators too. Addresses and prefixes are of `prefixes`
    (or, of machines that have kept them, in `hosts`). `macs` may be announced by no other endpoint of its pools. VPLS:
    `ve_id`, and `labels`, the first and the last that its PE receives on. With more than `max_macs` MACs all of its
    routes are quarantined. Traffic filters go beside them only with `flowspec`."""

    next_hops: list[str]
    prefixes: list[str] = Field(default=[], exclude_if=lambda some: not some)
    hosts: list[str] = Field(default=[], exclude_if=lambda some: not some)
    macs: list[str] = Field(default=[], exclude_if=lambda some: not some)
    ve_id: int | None = Field(default=None, ge=1, le=65535, exclude_if=lambda number: number is None)
    labels: tuple[int, int] | None = Field(default=None, exclude_if=lambda block: block is None)
    max_macs: int | None = Field(default=None, ge=1, exclude_if=lambda most: most is None)
    flowspec: bool = Field(default=False, exclude_if=lambda may: not may)


class Endpoint(Message):
    """An endpoint as the route server knows it: who may announce which route target, in which family, and with how
    many routes; without `max_routes` with any number, and without `permits` whatever they say."""

    name: str
    peer: str
    family: Family
    rt: str
    rd: str
    max_routes: int | None = Field(default=None, ge=1, exclude_if=lambda most: most is None)
    permits: Permits | None = Field(default=None, exclude_if=lambda permits: permits is None)


class Vcp(Message):
    """A pool and its members, sorted by name."""

    name: str
    members: list[str]


class RuleSet(Message):
    """Everything a route server acts on. Lists are sorted by name, so that equal sets are equal documents.
    `PUT /v1/ruleset` replaces, `GET /v1/ruleset` reads back."""

    generation: int
    peers: list[Peer]
    endpoints: list[Endpoint]
    vcps: list[Vcp]


class SetPeer(Message):
    op: Literal["set-peer"] = "set-peer"
    peer: Peer


class RemovePeer(Message):
    op: Literal["remove-peer"] = "remove-peer"
    name: str


class SetEndpoint(Message):
    op: Literal["set-endpoint"] = "set-endpoint"
    endpoint: Endpoint


class RemoveEndpoint(Message):
    """Also takes the endpoint out of every VCP."""

    op: Literal["remove-endpoint"] = "remove-endpoint"
    name: str


class SetVcp(Message):
    """Creates the VCP or replaces its members."""

    op: Literal["set-vcp"] = "set-vcp"
    vcp: Vcp


class RemoveVcp(Message):
    op: Literal["remove-vcp"] = "remove-vcp"
    name: str


class Join(Message):
    op: Literal["join"] = "join"
    vcp: str
    endpoint: str


class Leave(Message):
    op: Literal["leave"] = "leave"
    vcp: str
    endpoint: str


Operation = Annotated[
    SetPeer | RemovePeer | SetEndpoint | RemoveEndpoint | SetVcp | RemoveVcp | Join | Leave,
    Field(discriminator="op"),
]


class Change(Message):
    """`POST /v1/changes`: apply `ops` in order to generation `base`, all or nothing, giving `generation`. A route
    server at another generation answers 409 and is then brought up to date with the whole rule set. With `dry_run`
    nothing is done and the reply says what would be sent."""

    base: int
    generation: int
    ops: list[Operation]
    dry_run: bool = False


class PeerReceipt(Message):
    """What one PE was sent. `written_us` is the time from the start of the transaction until the last of it was
    handed to the kernel's socket; None when the session is down or the peer was still behind when the reply left.
    `withheld` counts routes that it is to have and that do not fit into a message that it takes (RFC 8654),
    `held` those that it does not bear (docs/network/poison.md)."""

    peer: str
    announced: int
    withdrawn: int
    withheld: int = Field(default=0, exclude_if=lambda count: not count)
    written_us: int | None
    held: int = Field(default=0, exclude_if=lambda count: not count)


class Receipt(Message):
    """The reply to a change or a replacement. `peers` lists only those that were sent something."""

    route_server: str
    generation: int
    previous: int
    announced: int
    withdrawn: int
    peers: list[PeerReceipt]
    duration_us: int
    dry_run: bool = False
    held: int = Field(default=0, exclude_if=lambda count: not count)
