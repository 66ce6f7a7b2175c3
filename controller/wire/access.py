"""Access rules as a cloudlet enforces them: Flowspec (RFC 8955, RFC 8956) for each of its LANs, and what it counts.

Sent as server-sent events named `access` on the stream of desired states, ahead of the desired state that they belong
to: what is let in by that is filtered from its first frame on. `POST /api/v1/agent/access` takes what was counted.
"""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.fields import Name
from controller.wire.model import Message

FlowFamily = Literal["ipv4-flowspec", "ipv6-flowspec"]
Count = Annotated[int, Field(ge=0, lt=2**64)]
Hex = Annotated[str, Field(pattern=r"^([0-9a-f]{2})+$", max_length=8192)]


class Filter(Message):
    """One specification: the NLRI as it is in BGP, with its length in front, and the extended communities that say what
    to do (RFC 8955, section 7), eight octets each. Both in lower-case hex."""

    family: FlowFamily
    nlri: Hex
    actions: Annotated[list[Hex], Field(max_length=16)]


class Filtered(Message):
    """What comes to the LAN of `endpoint` out of its tunnels goes through these, in the order of RFC 8955, section 5.1:
    the first that matches decides, and what none matches is accepted."""

    endpoint: str
    filters: list[Filter]


class Access(Message):
    """All that one cloudlet filters. `version` is that of the desired state it goes with: until the cloudlet has come
    to that, what was filtered before is filtered as well."""

    version: int
    lans: list[Filtered]


class Counted(Message):
    """What a filter in the kernel has matched since it was put in, and how many packets of that did not pass."""

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
"""What somebody sent who may not: at an access port a tagged frame, one with another header in front of its packet, a
DHCP server's message, a router's, something from the gateway's addresses, headers that cannot be read, something from
somebody else's address; beyond a port's budget more MACs (`crowd`), more addresses (`speakers`), packets for more
addresses (`scan`), or more for DHCP and the router (`requests`), and the same out of a tunnel (`-in`); or VXLAN, from
somebody who shares no pool with the cloudlet, or from a VTEP that shares one with the VNI of another tunnel."""


class Dropped(Message):
    """Packets of impostors that were dropped since the rules were last put in. `endpoint`: at whose LAN, None where it
    came by the underlay."""

    endpoint: Name | None = None
    what: Impostor
    packets: Count


class AccessReport(Message):
    """All filters that are in the cloudlet's kernel, and what was dropped of impostors, if anything was."""

    cloudlet: Name
    filters: Annotated[list[Counted], Field(max_length=100_000)]
    dropped: list[Dropped] = Field(default_factory=list, max_length=2000)
