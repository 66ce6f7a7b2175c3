"""Turns a snapshot into a report. Pure, except for the process's own footprint."""

import resource
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from agents.controller.findings import told
from agents.controller.understood import UNDERSTOOD
from agents.kernel import lan
from agents.kernel.ports import as_named
from agents.kernel.snapshot import MAIN, Snapshot, driven
from agents.kernel.vpls import MAX_VE_ID
from controller.wire.desired import Desired, Endpoint
from controller.wire.findings import Finding, Passage
from controller.wire.flavours import Flavour
from controller.wire.reports import (
    LONGEST_PROBLEM,
    MOST,
    MOST_PROBLEMS,
    EndpointState,
    Report,
    SpeakerState,
    Tunnel,
)
from controller.wire.tunnels import Ipsec

T = TypeVar("T")


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
    """Return the report: the kernel's state of each desired endpoint. `sessions` are by the route server's address,
    `problems` by endpoint index. `awaited` are VTEPs that get no frames yet, whatever the kernel has. `ipsec` are the
    encrypted tunnels, `findings` further findings, and `passages`, by endpoint, the results of probes."""
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
        findings=told(findings),
        understands=list(UNDERSTOOD),
    )


def same(one: Report, other: Report) -> bool:
    """Return whether two reports say the same of the cloudlet, apart from resources used and packets counted."""
    return one.steady == other.steady


def tunnels(endpoint: Endpoint, snapshot: Snapshot) -> list[Tunnel]:
    """Return the remote VTEPs that the endpoint's frames go to: devices that are up, on the bridge, with a flood
    entry."""
    return sorted(_tunnels(endpoint, snapshot), key=lambda t: (t.device, t.vtep))


def _endpoint(
    endpoint: Endpoint,
    snapshot: Snapshot,
    problems: list[str],
    awaited: AbstractSet[str],
    passages: Sequence[Passage],
) -> EndpointState:
    bridge, untold = lan.bridge_name(endpoint), _Untold()
    return EndpointState(
        endpoint=endpoint.name,
        bridge=bridge if bridge in snapshot.bridges else "",
        ports=untold.after("ports", [port for port in as_named(snapshot, endpoint) if not driven(port)]),
        tunnels=untold.after("tunnels", [t for t in tunnels(endpoint, snapshot) if t.vtep not in awaited]),
        routes=untold.after(
            "routes", sorted(r.prefix for r in snapshot.routes if r.device == bridge and r.table == MAIN)
        ),
        passages=untold.after("passages", list(passages)),
        problems=_shortened([*untold.problems, *problems]),
    )


class _Untold:
    """Cuts lists that are too long for a report, and adds a problem that says so: the controller would refuse the whole
    report."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def after(self, noun: str, found: list[T]) -> list[T]:
        if len(found) > MOST:
            self.problems.append(f"{len(found)} {noun}, of which the report has the first {MOST}")
        return found[:MOST]


def _shortened(problems: list[str]) -> list[str]:
    """Return the problems, cut to what a report may have."""
    told = [text if len(text) <= LONGEST_PROBLEM else text[: LONGEST_PROBLEM - 1] + "…" for text in problems]
    more = len(told) - MOST_PROBLEMS
    return told if more <= 0 else [*told[: MOST_PROBLEMS - 1], f"and {more + 1} problems more"]


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
