"""From a snapshot to a report. Pure, but for the process's own footprint."""

import resource
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import MappingProxyType

from agents import lan
from agents.kernel import MAIN, Snapshot, driven
from agents.vpls import MAX_VE_ID
from controller.wire.desired import Desired, Endpoint
from controller.wire.findings import Finding, Passage
from controller.wire.flavours import Flavour
from controller.wire.reports import EndpointState, Report, SpeakerState, Tunnel
from controller.wire.tunnels import Ipsec


def report(
    desired: Desired,
    snapshot: Snapshot,
    sessions: Mapping[str, str],
    problems: Mapping[int, list[str]],
    version: str,
    awaited: AbstractSet[str] = frozenset(),
    ipsec: Ipsec | None = None,
    findings: Sequence[Finding] = (),
    passages: Mapping[str, Sequence[Passage]] = MappingProxyType({}),
) -> Report:
    """What the kernel has of each desired endpoint. `sessions` by the route server's address, `problems` by endpoint
    index. To VTEPs that are `awaited` nothing goes yet, whatever the kernel has. `ipsec`: the encrypted tunnels;
    `findings`: what else was found out, and `passages`, by endpoint, what probes have."""
    return Report(
        cloudlet=desired.cloudlet,
        version=desired.version,
        generation=desired.generation,
        agent_version=version,
        endpoints=[
            _endpoint(e, snapshot, problems.get(e.index, []), awaited, passages.get(e.name, ()))
            for e in desired.endpoints
        ],
        speakers=[SpeakerState(name=s.name, state=sessions.get(s.address, "idle")) for s in desired.speakers],
        resident_bytes=_resident_bytes(),
        cpu_seconds=_cpu_seconds(),
        ipsec=ipsec,
        findings=list(findings),
    )


def same(one: Report, other: Report) -> bool:
    """Whether two reports say the same of the cloudlet, whatever has been used and counted meanwhile."""
    return one.steady == other.steady


def tunnels(endpoint: Endpoint, snapshot: Snapshot) -> list[Tunnel]:
    """The remote VTEPs that the endpoint's frames go to: devices that are up, on the bridge, with a flood entry."""
    return sorted(_tunnels(endpoint, snapshot), key=lambda t: (t.device, t.vtep))


def _endpoint(
    endpoint: Endpoint,
    snapshot: Snapshot,
    problems: list[str],
    awaited: AbstractSet[str],
    passages: Sequence[Passage],
) -> EndpointState:
    bridge = lan.bridge_name(endpoint)
    return EndpointState(
        endpoint=endpoint.name,
        bridge=bridge if bridge in snapshot.bridges else "",
        ports=[port for port in lan.on_bridge(snapshot, endpoint) if not driven(port)],
        tunnels=[t for t in tunnels(endpoint, snapshot) if t.vtep not in awaited],
        routes=sorted(r.prefix for r in snapshot.routes if r.device == bridge and r.table == MAIN),
        problems=problems,
        passages=list(passages),
    )


def _tunnels(endpoint: Endpoint, snapshot: Snapshot) -> Iterator[Tunnel]:
    for vxlan in snapshot.vxlans.values():
        if not vxlan.up or vxlan.bridge != lan.bridge_name(endpoint):
            continue
        for flood in vxlan.flood or ():
            ve_id = vxlan.vni & MAX_VE_ID if endpoint.flavour is Flavour.VPLS else None
            yield Tunnel(
                remote=_remote(endpoint, ve_id, flood.vtep),
                vtep=flood.vtep,
                ve_id=ve_id,
                rx_vni=vxlan.vni,
                tx_vni=flood.vni,
                device=vxlan.name,
            )


def _remote(endpoint: Endpoint, ve_id: int | None, vtep: str) -> str | None:
    for remote in endpoint.remotes:
        if (remote.ve_id == ve_id) if ve_id is not None else (remote.vtep == vtep):
            return remote.endpoint
    return None


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return round(usage.ru_utime + usage.ru_stime, 3)
