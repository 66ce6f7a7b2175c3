"""Access rules as a cloudlet enforces them: Flowspec (RFC 8955, RFC 8956) for each of its LANs, and the filters'
counters.

Sent as server-sent events named `access` on the stream of desired states, before the desired state that they belong to,
so traffic that the new state admits is filtered from its first frame on. `POST /api/v1/agent/access` takes the
counters.
"""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.fields import Name
from controller.wire.model import Message

FlowFamily = Literal["ipv4-flowspec", "ipv6-flowspec"]
Count = Annotated[int, Field(ge=0, lt=2**64)]
Hex = Annotated[str, Field(pattern=r"^([0-9a-f]{2})+$", max_length=8192)]


class Filter(Message):
    """One specification: the NLRI as in BGP, with its length in front, and the extended communities of its actions (RFC
    8955, section 7), eight octets each. Both in lower-case hex."""

    family: FlowFamily
    nlri: Hex
    actions: Annotated[list[Hex], Field(max_length=16)]


class Filtered(Message):
    """The filters for packets that come out of tunnels to the LAN of `endpoint`, in the order of RFC 8955, section 5.1.
    The first match decides; a packet without a match is accepted."""

    endpoint: str
    filters: list[Filter]


class Access(Message):
    """All filters of one cloudlet. `version` is that of the desired state they go with. Until the cloudlet has reached
    that state, the former filters stay in force as well."""

    version: int
    lans: list[Filtered]


class Counted(Message):
    """The packets and bytes that a filter in the kernel has matched since it was installed, and the packets it
    dropped."""

    endpoint: Name
    family: FlowFamily
    nlri: Hex
    packets: Count
    bytes: Count
    dropped: Count


Impostor = Literal[
    "tagged",
    "wrapped",
    "dhcp",
    "router",
    "gateway",
    "hidden",
    "source",
    "crowd",
    "crowd-in",
    "speakers",
    "speakers-in",
    "scan",
    "scan-in",
    "requests",
    "requests-in",
    "vxlan",
    "vni",
]
"""Traffic of a sender that may not send it. At an access port: a tagged frame, a frame with another header in front of
its packet (`wrapped`), a message of a DHCP server or router, a packet from the gateway's addresses, unreadable headers
(`hidden`), or a packet from an address of another host (`source`). Beyond a port's budget: more MACs (`crowd`), more
sender addresses (`speakers`), packets for more addresses (`scan`), or more requests for DHCP and the router
(`requests`); with `-in`, the same out of a tunnel. VXLAN: from a sender that shares no pool with the cloudlet
(`vxlan`), or from a VTEP that shares one, with the VNI of another tunnel (`vni`)."""


class Dropped(Message):
    """Packets of impostors that were dropped since the rules were last installed. `endpoint` is the endpoint of the
    LAN; None if the packets came over the underlay."""

    endpoint: Name | None = None
    what: Impostor
    packets: Count


class AccessReport(Message):
    """All filters in the cloudlet's kernel, and the packets of impostors that were dropped, if any."""

    cloudlet: Name
    filters: Annotated[list[Counted], Field(max_length=100_000)]
    dropped: list[Dropped] = Field(default_factory=list, max_length=2000)
