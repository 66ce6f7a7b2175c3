"""Computes the missing operations from the desired state, the pseudowires and a snapshot. Pure.

The operations that take connectivity away come first (routes, then tunnels, then LANs), then those that give it (LANs,
tunnels, routes). So a remote that leaves loses its route before its pseudowire, and one that joins gets the pseudowire
first.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from agents.kernel import evpn, lan, vpls
from agents.kernel.operations import (
    AddAddress,
    AddBridge,
    AddFlood,
    AddRoute,
    AddRule,
    AddVlan,
    AddVxlan,
    DeleteAddress,
    DeleteFlood,
    DeleteLinks,
    DeleteRoute,
    DeleteRule,
    Enslave,
    Operation,
    Release,
    SetLink,
    SetPort,
    WriteSysctl,
)
from agents.kernel.ports import Ports, ports
from agents.kernel.snapshot import Bridge, Route, Rule, Snapshot, Vxlan, driven
from agents.kernel.vpls import Pseudowire
from controller.wire.desired import Desired, Endpoint, Remote
from controller.wire.flavours import Flavour


@dataclass(frozen=True)
class Plan:
    """The `operations` in order, and by endpoint index the `problems`: sentences about what cannot be done."""

    operations: tuple[Operation, ...]
    problems: Mapping[int, list[str]]


def plan(desired: Desired, pseudowires: Mapping[int, frozenset[Pseudowire]], snapshot: Snapshot) -> Plan:
    """Return the plan that turns the snapshot into the desired state. `pseudowires` are by endpoint index (VPLS
    endpoints only)."""
    bridges = {f"lan{e.index}": lan.bridge(desired.cloudlet, e) for e in desired.endpoints}
    vxlans = {v.name: v for v in _vxlans(desired, pseudowires)}
    access = ports(desired, snapshot.ports)
    routes = {
        route: lan.METRIC + endpoint.index
        for endpoint in desired.endpoints
        for route in lan.routes(endpoint, reached(endpoint, pseudowires.get(endpoint.index, frozenset()), snapshot))
    }
    rules = {rule for endpoint in desired.endpoints for rule in lan.rules(endpoint)}
    operations = (
        *_removals(bridges, vxlans, access, routes, rules, snapshot),
        *(Release(p) for p in _strangers(bridges, access, snapshot)),
        *(WriteSysctl(p, v) for p, v in lan.router_sysctls(desired).items() if snapshot.sysctls.get(p, v) != v),
        *(_larger_tables(snapshot) if desired.endpoints else ()),
        *(operation for endpoint in desired.endpoints for operation in _lan(desired, endpoint, snapshot)),
        *(AddRule(rule) for rule in sorted(rules - snapshot.rules, key=str)),
        *(
            Enslave(name, lan.bridge_name(endpoint))
            for name, endpoint in access.assigned.items()
            if snapshot.ports[name].bridge != lan.bridge_name(endpoint)
        ),
        *(AddVlan(vlan, lan.bridge_name(endpoint)) for vlan, endpoint in access.missing.items()),
        *(operation for vxlan in vxlans.values() for operation in _tunnel(vxlan, snapshot.vxlans.get(vxlan.name))),
        *(AddRoute(route, metric) for route, metric in routes.items() if route not in snapshot.routes),
    )
    return Plan(operations, access.problems)


def _larger_tables(snapshot: Snapshot) -> Iterator[Operation]:
    """Yield the writes that enlarge the neighbour tables. Larger tables stay as they are, because the machine may have
    other work."""
    for path, least in lan.neighbour_tables().items():
        have = snapshot.sysctls.get(path, "")
        if have.isdecimal() and int(have) < least:
            yield WriteSysctl(path, str(least))


def reached(endpoint: Endpoint, pseudowires: frozenset[Pseudowire], snapshot: Snapshot) -> list[Remote]:
    """Return the remotes that a tunnel leads to: by a desired pseudowire, or by a flood entry that FRR has made."""
    if endpoint.flavour is Flavour.VPLS:
        ve_ids = {p.ve_id for p in pseudowires}
        return [r for r in endpoint.remotes if r.ve_id in ve_ids]
    vxlan = snapshot.vxlans.get(f"vx{endpoint.index}")
    vteps = {flood.vtep for flood in (vxlan.flood if vxlan else None) or ()}
    return [r for r in endpoint.remotes if r.vtep in vteps]


def _vxlans(desired: Desired, pseudowires: Mapping[int, frozenset[Pseudowire]]) -> Iterator[Vxlan]:
    for endpoint in desired.endpoints:
        if endpoint.flavour is Flavour.EVPN:
            yield evpn.device(endpoint)
        else:
            yield from (vpls.device(endpoint, p) for p in sorted(pseudowires.get(endpoint.index, ())))


def _removals(
    bridges: Mapping[str, Bridge],
    vxlans: Mapping[str, Vxlan],
    access: Ports,
    routes: Mapping[Route, int],
    rules: AbstractSet[Rule],
    snapshot: Snapshot,
) -> Iterator[Operation]:
    yield from (DeleteRoute(route) for route in sorted(snapshot.routes) if route not in routes)
    yield from (DeleteRule(rule) for rule in sorted(snapshot.rules - rules, key=str))
    tunnels = tuple(name for name, have in sorted(snapshot.vxlans.items()) if not _same(vxlans.get(name), have))
    tagged = tuple(name for name, port in sorted(snapshot.ports.items()) if port.made and name not in access.assigned)
    lans = tuple(sorted(snapshot.bridges.keys() - bridges.keys()))
    yield from (DeleteLinks(names) for names in (tunnels, tagged, lans) if names)


def _strangers(bridges: Mapping[str, Bridge], access: Ports, snapshot: Snapshot) -> list[str]:
    """Return the ports on our bridges that no endpoint wants. A machine's port is its driver's, and is not among
    them; nor is a VLAN's interface that the agent has made, which is removed."""
    found = (port for name, port in snapshot.ports.items() if port.bridge in bridges and name not in access.assigned)
    return sorted(port.name for port in found if not driven(port.name) and not port.made)


def _same(want: Vxlan | None, have: Vxlan | None) -> bool:
    """Return whether both are the same device. Its VNI and local address cannot be changed; all other properties
    can."""
    return want is not None and have is not None and (want.vni, want.local) == (have.vni, have.local)


def _lan(desired: Desired, endpoint: Endpoint, snapshot: Snapshot) -> Iterator[Operation]:
    want = lan.bridge(desired.cloudlet, endpoint)
    have = snapshot.bridges.get(want.name)
    settings = lan.sysctls(endpoint)
    if have is None:
        yield AddBridge(want.name, want.mac, want.mtu)
        yield from (WriteSysctl(path, value) for path, value in settings.items())
        have = replace(want, up=False, addresses=frozenset())
    else:
        yield from (WriteSysctl(p, v) for p, v in settings.items() if snapshot.sysctls.get(p, v) != v)
    # Added first: the kernel removes the routes of a device when it loses its last address.
    yield from (AddAddress(want.name, a) for a in sorted(want.addresses - have.addresses))
    yield from (DeleteAddress(want.name, a) for a in sorted(have.addresses - want.addresses))
    if (want.mac, want.mtu, want.up) != (have.mac, have.mtu, have.up):
        yield _difference(want, have)


def _tunnel(want: Vxlan, have: Vxlan | None) -> Iterator[Operation]:
    if have is None or not _same(want, have):
        yield AddVxlan(want)
        return
    if (want.bridge, want.isolated, want.learning) != (have.bridge, have.isolated, have.learning):
        yield SetPort(want.name, want.bridge or "", want.isolated, want.learning)
    if want.flood is not None:
        floods = have.flood or frozenset()
        yield from (AddFlood(want.name, flood) for flood in sorted(want.flood - floods))
        yield from (DeleteFlood(want.name, flood) for flood in sorted(floods - want.flood))
    if (want.mtu, want.up) != (have.mtu, have.up):
        yield _difference(want, have)


def _difference(want: Bridge | Vxlan, have: Bridge | Vxlan) -> SetLink:
    macs = (want.mac, have.mac) if isinstance(want, Bridge) and isinstance(have, Bridge) else (None, None)
    return SetLink(
        want.name,
        mac=macs[0] if macs[0] != macs[1] else None,
        mtu=want.mtu if want.mtu != have.mtu else None,
        up=want.up if want.up != have.up else None,
    )
