"""Probes on demand, for `weft verify`: what the controller asks agents to send now, and what comes of it.

Sent as server-sent events named `probes` on the agent's stream, to agents that understand them. The agent answers on
`POST /api/v1/agent/probes` in batches, as results come; the controller answers 204."""

from typing import Annotated

from pydantic import Field

from controller.wire.fields import Address, Count, Name
from controller.wire.model import Message

MOST_TARGETS = 2000
"""Most targets of one cloudlet in one request. The controller leaves further ones out, and says so."""

MOST_RESULTS = 500
"""Most results in one report."""

PER_SECOND = 50
"""Most questions a second that an agent sends on one LAN, and four times as many on all of them."""

SMALLEST = 576
"""The smallest packet that is tried, in bytes: every link takes it (RFC 791)."""

Mtu = Annotated[int, Field(ge=SMALLEST, le=65535)]
Milliseconds = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class ProbeTarget(Message):
    """The gateway of the LAN `remote`, at `address`, as the gateway of `endpoint`'s LAN is to ask for it. `mtu` is the
    size of the largest packet that should pass; None: no packet should, and the agent only asks who has the address."""

    endpoint: Name
    remote: Name
    address: Address
    mtu: Mtu | None


class ProbeRequest(Message):
    """The targets of one cloudlet in the verification `number`. A request with another number replaces it."""

    cloudlet: Name
    number: Count
    targets: Annotated[list[ProbeTarget], Field(max_length=MOST_TARGETS)]


class ProbeResult(Message):
    """The result for one target. `resolved_ms` is the time until the gateway's MAC was known (ARP, or neighbour
    discovery), None if it stayed unknown. `echo_ms` is the round trip of an ICMP echo, None without an answer. `tried`
    is the size of the largest packet that was tried: the target's, or the LAN's own MTU if IPsec makes that smaller.
    `mtu` is the size of the largest one that came back whole with its Don't Fragment bit set (IPv6 has none, as no
    router fragments there). `problem` is the reason why the agent could not ask."""

    endpoint: Name
    remote: Name
    address: Address
    resolved_ms: Milliseconds | None = None
    echo_ms: Milliseconds | None = None
    tried: Mtu | None = None
    mtu: Mtu | None = None
    problem: Annotated[str, Field(max_length=300)] = ""


class ProbeReport(Message):
    """Some results of a verification."""

    cloudlet: Name
    number: Count
    results: Annotated[list[ProbeResult], Field(max_length=MOST_RESULTS)]
