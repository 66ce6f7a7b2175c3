"""Desired state: the configuration that the controller wants at one cloudlet. A whole document every time, never a
delta.

Sent as server-sent events named `desired` on `GET /api/v1/agent/desired`; the event id is `version`. A stream opened
with `Last-Event-ID: N` gets the current document at once if its version differs from N, else waits for the next.
"""

from hashlib import blake2b

from pydantic import ConfigDict, Field

from controller.wire.flavours import Flavour
from controller.wire.model import Message


class Speaker(Message):
    """A route server the PE keeps an iBGP session with. `address` is an IP address, `asn` the region's AS number."""

    name: str
    address: str
    asn: int


class Remote(Message):
    """Another endpoint that shares at least one VCP with this one.

    `prefix` is its LAN in CIDR form (routed on-link over the bridge), `vtep` its tunnel address. `ve_id` is set for
    VPLS, None for EVPN. `prefix6` is its IPv6 LAN, if it has one.
    """

    endpoint: str
    cloudlet: str
    prefix: str
    vtep: str
    ve_id: int | None
    prefix6: str | None = None


class Endpoint(Message):
    """One LAN of this cloudlet and its attachment to the fabric.

    `index` is unique at the cloudlet (1..255) and stable: the agent names kernel objects by it and, for VPLS, takes
    labels from it: the label on which this endpoint receives from the endpoint with VE ID v is `(index << 12) | v`.
    `prefix` is CIDR, `gateway` the cloudlet's own address on the LAN (no length). `ports` are interface names, shell
    patterns (`md*`) or VLANs (`eth1.100`) of the cloudlet's access ports; the agent puts each interface that matches
    on the bridge, also one that appears later, and makes the interface of a VLAN. `ve_id` (1..4095) is set for VPLS,
    `vni` (1..2^24-1) for EVPN. `mtu` in bytes. `prefix6` and `gateway6` are the LAN's IPv6 side, None where it has
    none.
    """

    model_config = ConfigDict(title="DesiredEndpoint")

    name: str
    index: int
    flavour: Flavour
    prefix: str
    gateway: str
    ports: list[str]
    rt: str
    rd: str
    ve_id: int | None
    vni: int | None
    vtep: str
    mtu: int
    lease_seconds: int
    remotes: list[Remote]
    prefix6: str | None = None
    gateway6: str | None = None


class Protected(Message):
    """The other end of a BGP session that must go through IPsec. `name` is the cloudlet's or route server's name, which
    the peer has to prove; `address` is the peer's address."""

    name: str
    address: str


class Desired(Message):
    """The whole configuration of one cloudlet at rule set `generation`. `version` counts documents of this cloudlet.

    `asn` and `router_id` configure the PE's BGP speaker; `vtep` is the local end of every tunnel and of BGP sessions.
    The host of a route server has neither speakers nor endpoints; its `protected` lists every enrolled cloudlet.
    """

    version: int
    generation: int
    cloudlet: str
    asn: int
    router_id: str
    vtep: str
    speakers: list[Speaker]
    endpoints: list[Endpoint]
    protected: list[Protected] = Field(default=[])


GATEWAYS = "02:57"
"""The first octets of the MACs of cloudlets' own addresses on their LANs: locally administered, and used by no
machine."""


def gateway_mac(cloudlet: str, index: int) -> str:
    """Return the MAC of the cloudlet's own address on the LAN of the endpoint with that index. It is the same after
    every restart, so ARP caches stay right."""
    return f"{GATEWAYS}:" + blake2b(f"{cloudlet}/{index}".encode(), digest_size=4).digest().hex(":")
