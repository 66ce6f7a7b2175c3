"""Reports: an agent's view of its kernel. `POST /api/v1/agent/reports`, at once after every change and else every 30 s.
The controller answers 204; a report is the whole state of the cloudlet, never a delta."""

from typing import Annotated

from pydantic import ConfigDict, Field

from controller.wire.fields import Address, Count, Device, Name, Prefix, Real, Version
from controller.wire.findings import Finding, Passage
from controller.wire.model import Message
from controller.wire.tunnels import Ipsec

MOST = 10_000
"""Maximum ports, tunnels, routes and passages of an endpoint, and endpoints of a cloudlet."""

MOST_PROBLEMS, LONGEST_PROBLEM = 1000, 2000
"""The maximum number of an endpoint's problems, and of characters of each."""

MOST_FINDINGS = 1000

MOST_UNDERSTOOD = 500

Problem = Annotated[str, Field(max_length=LONGEST_PROBLEM)]
Understood = Annotated[str, Field(max_length=100)]
Vni = Annotated[int, Field(ge=0, le=2**24 - 1)]


class Tunnel(Message):
    """A remote VTEP that the kernel really sends an endpoint's frames to, read back from the kernel.

    VPLS: one per pseudowire that has both its device and its FDB entry; `rx_vni`/`tx_vni` are the labels, `ve_id` the
    remote's. EVPN: one per all-zeros FDB entry that FRR installed; `rx_vni` == `tx_vni`, `ve_id` None. `remote` is the
    endpoint's name if the desired state has one with this VE ID (VPLS) or VTEP (EVPN), else None.
    """

    model_config = ConfigDict(title="ReportedTunnel")

    remote: Name | None
    vtep: Address
    ve_id: Annotated[int, Field(ge=0, le=2**16 - 1)] | None
    rx_vni: Vni
    tx_vni: Vni
    device: Device


class EndpointState(Message):
    """One endpoint as the kernel has it. `routes` are the on-link prefixes of remotes, CIDR. `problems` are readable
    sentences about differences from the desired state that the agent could not remove; empty when all is well.
    `passages` are the results of probes through its tunnels, for pairs with a verdict."""

    endpoint: Name
    bridge: Device
    ports: Annotated[list[Device], Field(max_length=MOST)]
    tunnels: Annotated[list[Tunnel], Field(max_length=MOST)]
    routes: Annotated[list[Prefix], Field(max_length=MOST)]
    problems: Annotated[list[Problem], Field(max_length=MOST_PROBLEMS)]
    passages: list[Passage] = Field(default=[], max_length=MOST, exclude_if=lambda some: not some)


class SpeakerState(Message):
    """The PE's BGP session with a route server: `established`, or the FSM state's name in lower case."""

    name: Name
    state: Annotated[str, Field(max_length=64)]


class Report(Message):
    """The state of a cloudlet. `generation` and `version` are those of the desired state that the agent converged to
    before it read this back; `resident_bytes` and `cpu_seconds` are the agent process's own. `ipsec` is None if tunnels
    are in the clear, or the agent's release does not report it. `findings` are problems at this host although the
    kernel's state is right. `understands` are the documents that the agent follows, and the optional fields of the
    desired state that it knows (`controller/wire/optional_fields.py`); empty: its release does not say."""

    cloudlet: Name
    version: Count
    generation: Count
    agent_version: Version
    endpoints: Annotated[list[EndpointState], Field(max_length=MOST)]
    speakers: Annotated[list[SpeakerState], Field(max_length=1000)]
    resident_bytes: Count
    cpu_seconds: Real
    ipsec: Ipsec | None = None
    findings: list[Finding] = Field(default=[], max_length=MOST_FINDINGS, exclude_if=lambda some: not some)
    understands: list[Understood] = Field(default=[], max_length=MOST_UNDERSTOOD, exclude_if=lambda some: not some)

    @property
    def steady(self) -> "Report":
        """The report without values that change every time even if nothing happens."""
        ipsec = self.ipsec.steady if self.ipsec is not None else None
        return self.model_copy(update={"resident_bytes": 0, "cpu_seconds": 0.0, "ipsec": ipsec})
