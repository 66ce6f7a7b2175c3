"""Reports: what an agent sees in its kernel. `POST /api/v1/agent/reports`, at once after every change and else every
30 s. The controller answers 204; a report is the whole truth about the cloudlet, never a delta."""

from pydantic import Field

from controller.wire.findings import Finding, Passage
from controller.wire.model import Message
from controller.wire.tunnels import Ipsec


class Tunnel(Message):
    """A remote VTEP that the kernel really sends an endpoint's frames to, read back from the kernel.

    VPLS: one per pseudowire that has both its device and its FDB entry; `rx_vni`/`tx_vni` are the labels, `ve_id` the
    remote's. EVPN: one per all-zeros FDB entry that FRR installed; `rx_vni` == `tx_vni`, `ve_id` None. `remote` is
    the endpoint's name where the desired state names one with this VE ID (VPLS) or VTEP (EVPN), else None.
    """

    remote: str | None
    vtep: str
    ve_id: int | None
    rx_vni: int
    tx_vni: int
    device: str


class EndpointState(Message):
    """One endpoint as the kernel has it. `routes` are the on-link prefixes of remotes, CIDR. `problems` are sentences
    for people about what could not be brought in line with the desired state; empty when all is well. `passages`: what
    probes through its tunnels found out, of pairs that have been decided."""

    endpoint: str
    bridge: str
    ports: list[str]
    tunnels: list[Tunnel]
    routes: list[str]
    problems: list[str]
    passages: list[Passage] = Field(default=[], max_length=10_000, exclude_if=lambda some: not some)


class SpeakerState(Message):
    """The PE's BGP session with a route server: `established`, or the FSM state's name in lower case."""

    name: str
    state: str


class Report(Message):
    """What the cloudlet is. `generation` and `version` are those of the desired state this was read back against, after
    converging to it; `resident_bytes` and `cpu_seconds` are the agent process's own. `ipsec` is None where tunnels are
    in the clear, or the agent is of a release that says nothing of them. `findings`: what is wrong at this host though
    the kernel is as it should be."""

    cloudlet: str
    version: int
    generation: int
    agent_version: str
    endpoints: list[EndpointState]
    speakers: list[SpeakerState]
    resident_bytes: int
    cpu_seconds: float
    ipsec: Ipsec | None = None
    findings: list[Finding] = Field(default=[], max_length=1000, exclude_if=lambda some: not some)

    @property
    def steady(self) -> "Report":
        """The same without what is different every time though nothing has happened."""
        ipsec = self.ipsec.steady if self.ipsec is not None else None
        return self.model_copy(update={"resident_bytes": 0, "cpu_seconds": 0.0, "ipsec": ipsec})
