"""The comparison of the agents' reports on their kernels with the desired state of each cloudlet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from controller.core.doctor.difference import Difference, listed
from controller.core.doctor.kinds import DifferenceKind
from controller.wire.desired import Desired, Endpoint, Remote
from controller.wire.flavours import Flavour
from controller.wire.reports import EndpointState, Report, Tunnel
from controller.wire.rulesets import RuleSet


@dataclass(frozen=True)
class Cloudlet:
    """One cloudlet: its desired state, its latest report if there is one, and whether its agent is connected now."""

    desired: Desired
    report: Report | None
    connected: bool


def compare_kernels(intent: RuleSet, cloudlets: Sequence[Cloudlet]) -> Iterator[Difference]:
    """Yield the differences between each cloudlet's desired state and the pools, and between its kernel and its desired
    state."""
    endpoints = {e.name: e for cloudlet in cloudlets for e in cloudlet.desired.endpoints}
    for cloudlet in sorted(cloudlets, key=lambda c: c.desired.cloudlet):
        yield from _desired(intent, cloudlet.desired)
        yield from _agent(cloudlet)
        if cloudlet.report is not None:
            yield from _kernel(cloudlet.desired, cloudlet.report, endpoints)


def _desired(intent: RuleSet, desired: Desired) -> Iterator[Difference]:
    for endpoint in desired.endpoints:
        pools = [set(vcp.members) for vcp in intent.vcps if endpoint.name in vcp.members]
        wanted = set().union(*pools) - {endpoint.name}
        found = {remote.endpoint for remote in endpoint.remotes}
        if wanted != found:
            yield Difference(
                DifferenceKind.DESIRED_STATE,
                f"desired state of {desired.cloudlet}",
                endpoint.name,
                listed(wanted),
                listed(found),
                f"The controller tells {desired.cloudlet} to connect {endpoint.name} with {listed(found)}; "
                f"by the pools it should be {listed(wanted)}.",
            )


def _agent(cloudlet: Cloudlet) -> Iterator[Difference]:
    desired, report = cloudlet.desired, cloudlet.report
    name, where = desired.cloudlet, f"agent of {desired.cloudlet}"
    if not cloudlet.connected:
        known = "its last report is compared" if report else "nothing is known of its kernel"
        text = f"The agent of {name} is not connected; {known}. Its traffic goes on as it last was."
        yield Difference(DifferenceKind.AGENT_AWAY, where, name, "connected", "not connected", text)
    elif report is None:
        text = f"The agent of {name} is connected and has not reported yet."
        yield Difference(DifferenceKind.NO_REPORT, where, name, "a report", "none", text)
    if report is None:
        return
    if report.generation < desired.generation:
        text = f"{name} is at generation {report.generation}; the controller is at {desired.generation}."
        yield Difference(
            DifferenceKind.AGENT_BEHIND, where, "generation", str(desired.generation), str(report.generation), text
        )
    states = {speaker.name: speaker.state for speaker in report.speakers}
    for speaker in desired.speakers if desired.endpoints else ():  # the agent configures its PE with the first endpoint
        state = states.get(speaker.name, "none")
        if state != "established":
            yield Difference(
                DifferenceKind.SESSION_DOWN,
                f"BGP at {name}",
                f"session with {speaker.name}",
                "established",
                state,
                f"The PE of {name} has no established BGP session with {speaker.name} ({speaker.address}), "
                f"it is in state {state}.",
            )


def _kernel(desired: Desired, report: Report, endpoints: Mapping[str, Endpoint]) -> Iterator[Difference]:
    where = f"kernel of {desired.cloudlet}"
    want, have = {e.name: e for e in desired.endpoints}, {s.endpoint: s for s in report.endpoints}
    for name in sorted(want.keys() | have.keys()):
        if name not in have:
            text = f"{desired.cloudlet} has no LAN for the endpoint {name} in its kernel."
            yield Difference(DifferenceKind.LAN_MISSING, where, name, "present", "absent", text)
        elif name not in want:
            text = f"{desired.cloudlet} still has the LAN of {name}, which is not one of its endpoints."
            yield Difference(DifferenceKind.LAN_LEFT, where, name, "absent", "present", text)
        else:
            yield from _tunnels(where, want[name], have[name], endpoints)
            yield from _routes(where, want[name], have[name])
            yield from _ports(where, want[name], have[name])
            for problem in have[name].problems:
                yield Difference(DifferenceKind.AGENT_PROBLEM, where, name, "no problem", problem, f"{name}: {problem}")


def _labels(endpoint: Endpoint, remote: Remote, endpoints: Mapping[str, Endpoint]) -> tuple[int | None, int | None]:
    """Return the VNIs to receive and to send on: each side's index above the other's VE ID (VPLS), or the pool's
    VNI."""
    if endpoint.flavour is Flavour.EVPN:
        return endpoint.vni, endpoint.vni
    far = endpoints.get(remote.endpoint)
    receive = None if remote.ve_id is None else (endpoint.index << 12) | remote.ve_id
    send = None if far is None or endpoint.ve_id is None else (far.index << 12) | endpoint.ve_id
    return receive, send


def _tunnels(
    where: str, endpoint: Endpoint, state: EndpointState, endpoints: Mapping[str, Endpoint]
) -> Iterator[Difference]:
    """Yield the differences in tunnels. The remote's VE ID identifies a VPLS tunnel, its VTEP an EVPN one."""
    vpls = endpoint.flavour is Flavour.VPLS
    want = {remote.ve_id if vpls else remote.vtep: remote for remote in endpoint.remotes}
    have: dict[int | str | None, Tunnel] = {tunnel.ve_id if vpls else tunnel.vtep: tunnel for tunnel in state.tunnels}
    for key in sorted(want.keys() | have.keys(), key=str):
        if key not in have:
            far = want[key]
            text = f"{endpoint.name} has no tunnel to {far.endpoint} at {far.cloudlet} ({far.vtep})."
            yield Difference(
                DifferenceKind.TUNNEL_MISSING,
                where,
                f"tunnel {endpoint.name} to {far.endpoint}",
                far.vtep,
                "none",
                text,
            )
        elif key not in want:
            tunnel = have[key]
            far_name = tunnel.remote or tunnel.vtep
            text = f"{endpoint.name} still has a tunnel to {far_name} ({tunnel.device}), with whom it shares no VCP."
            yield Difference(
                DifferenceKind.TUNNEL_LEFT, where, f"tunnel {endpoint.name} to {far_name}", "none", tunnel.vtep, text
            )
        else:
            far, tunnel = want[key], have[key]
            receive, send = _labels(endpoint, far, endpoints)
            expected = _tunnel(far.vtep, receive, send)
            found = _tunnel(
                tunnel.vtep, None if receive is None else tunnel.rx_vni, None if send is None else tunnel.tx_vni
            )
            if expected != found:
                text = f"The tunnel of {endpoint.name} to {far.endpoint} is {found}; it should be {expected}."
                yield Difference(
                    DifferenceKind.TUNNEL_WRONG,
                    where,
                    f"tunnel {endpoint.name} to {far.endpoint}",
                    expected,
                    found,
                    text,
                )


def _tunnel(vtep: str, receive: int | None, send: int | None) -> str:
    """Return a tunnel in words, with only the values that both sides of a comparison know."""
    labels = [f"receive VNI {receive}"] if receive is not None else []
    labels += [f"send VNI {send}"] if send is not None else []
    return ", ".join([f"VTEP {vtep}", *labels])


def _routes(where: str, endpoint: Endpoint, state: EndpointState) -> Iterator[Difference]:
    want, have = {remote.prefix: remote.endpoint for remote in endpoint.remotes}, set(state.routes)
    if endpoint.prefix6 is not None:
        want |= {remote.prefix6: remote.endpoint for remote in endpoint.remotes if remote.prefix6 is not None}
    for prefix in sorted(want.keys() - have):
        text = f"{state.bridge} has no on-link route to {prefix}, the LAN of {want[prefix]}."
        yield Difference(
            DifferenceKind.ROUTE_MISSING, where, f"route {prefix} of {endpoint.name}", state.bridge, "none", text
        )
    for prefix in sorted(have - want.keys()):
        text = (
            f"{state.bridge} has an on-link route to {prefix}, the LAN of nobody who shares a VCP with {endpoint.name}."
        )
        yield Difference(
            DifferenceKind.ROUTE_LEFT, where, f"route {prefix} of {endpoint.name}", "none", state.bridge, text
        )


def _ports(where: str, endpoint: Endpoint, state: EndpointState) -> Iterator[Difference]:
    """Yield the differences in ports. A port that is named must be there; a pattern may match nothing."""
    for port in sorted(set(endpoint.ports) - set(state.ports)):
        if not any(sign in port for sign in "*?["):
            text = f"The port {port} is not on {state.bridge}: {endpoint.name} has no access through it."
            yield Difference(
                DifferenceKind.PORT_MISSING,
                where,
                f"port {port} of {endpoint.name}",
                state.bridge,
                "not on the bridge",
                text,
            )
    for port in sorted(state.ports):
        if not any(fnmatchcase(port, pattern) for pattern in endpoint.ports):
            text = f"The port {port} is on {state.bridge}, and no port of {endpoint.name} is called so."
            yield Difference(
                DifferenceKind.PORT_STRANGE,
                where,
                f"port {port} of {endpoint.name}",
                "not on the bridge",
                state.bridge,
                text,
            )
