"""The rule set and its changes, as the route server's control API takes them (`routeserver/docs/control-api.md`).

The Go counterpart is `routeserver/internal/ruleset`; `tests/unit/wire` holds golden JSON that both sides read.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from controller.wire.model import Message

Family = Literal["l2vpn-vpls", "l2vpn-evpn", "vpnv4", "vpnv6"]
"""The address families of an endpoint's routes (RFC 4761, 7432, 4364, 4659)."""

Carried = Literal[Family, "ipv4-flowspec", "ipv6-flowspec", "ipv4-flowspec-vpn", "ipv6-flowspec-vpn"]
"""These families, and those of traffic filters (RFC 8955, 8956) that may carry the endpoint's route target too."""


class Peer(Message):
    """A PE: its name (the cloudlet's) and the source address of its BGP sessions. `ttl_security` is its maximum
    distance in hops (GTSM, RFC 5082); without it the route server's own setting applies."""

    model_config = ConfigDict(title="RuleSetPeer")

    name: str
    address: str
    asn: int
    ttl_security: int | None = Field(default=None, ge=1, le=255, exclude_if=lambda hops: hops is None)


class Permits(Message):
    """The content that an endpoint's routes may have besides its route target; a route with other content is
    quarantined. Routes have the endpoint's route distinguisher. Their next hops are among `next_hops`, and so are their
    originators. Their addresses and prefixes are within `prefixes`, or in `hosts` for machines that have kept them. No
    other endpoint of its pools may announce `macs`. VPLS: `ve_id`, and `labels`, the first and the last that its PE
    receives on. With more than `max_macs` MACs all of its routes are quarantined. Traffic filters are allowed only with
    `flowspec`."""

    next_hops: list[str]
    prefixes: list[str] = Field(default=[], exclude_if=lambda some: not some)
    hosts: list[str] = Field(default=[], exclude_if=lambda some: not some)
    macs: list[str] = Field(default=[], exclude_if=lambda some: not some)
    ve_id: int | None = Field(default=None, ge=1, le=65535, exclude_if=lambda number: number is None)
    labels: tuple[int, int] | None = Field(default=None, exclude_if=lambda block: block is None)
    max_macs: int | None = Field(default=None, ge=1, exclude_if=lambda most: most is None)
    flowspec: bool = Field(default=False, exclude_if=lambda may: not may)


class Endpoint(Message):
    """An endpoint as the route server knows it: the PE that may announce a route target, in which family, and with how
    many routes. Without `max_routes` the number has no limit; without `permits` the content has none."""

    model_config = ConfigDict(title="RuleSetEndpoint")

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
    """The complete input of a route server. Lists are sorted by name, so that equal sets are equal documents. `PUT
    /v1/ruleset` replaces it, `GET /v1/ruleset` reads it back."""

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
    """Removes the endpoint, from every VCP too."""

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
    """`POST /v1/changes`: apply `ops` in order to generation `base`, all or nothing, which results in `generation`. A
    route server at another generation answers 409, and the controller then sends it the whole rule set. With `dry_run`
    the route server changes nothing, and the reply says which routes it would send."""

    base: int
    generation: int
    ops: list[Operation]
    dry_run: bool = False


class PeerReceipt(Message):
    """The routes that one PE was sent. `written_us` is the time from the start of the transaction until the last of
    them was handed to the kernel's socket; None if the session is down or the peer was still behind when the reply
    left. `withheld` counts routes for the PE that do not fit into a message that it accepts (RFC 8654), `held` routes
    that it cannot bear (docs/network/poison.md)."""

    peer: str
    announced: int
    withdrawn: int
    withheld: int = Field(default=0, exclude_if=lambda count: not count)
    written_us: int | None
    held: int = Field(default=0, exclude_if=lambda count: not count)


class Receipt(Message):
    """The reply to a change or a replacement. `peers` lists only the PEs that were sent something."""

    route_server: str
    generation: int
    previous: int
    announced: int
    withdrawn: int
    peers: list[PeerReceipt]
    duration_us: int
    dry_run: bool = False
    held: int = Field(default=0, exclude_if=lambda count: not count)
