"""Access ports: the interfaces on an endpoint's bridge, which the endpoint names, describes by shell patterns, or names
as VLANs of a trunk. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from agents.kernel import vlans
from agents.kernel.lan import bridge_name
from agents.kernel.snapshot import Port, Snapshot
from agents.kernel.vlans import Vlan
from controller.wire.desired import Desired, Endpoint


@dataclass(frozen=True)
class Ports:
    """The endpoint of each access port that is there (`assigned`, by name), the endpoint of each VLAN that has no
    interface yet (`missing`), and by endpoint index the `problems` with other ports."""

    assigned: dict[str, Endpoint] = field(default_factory=dict)
    missing: dict[Vlan, Endpoint] = field(default_factory=dict)
    problems: dict[int, list[str]] = field(default_factory=dict)

    def problem(self, endpoint: Endpoint, text: str) -> None:
        """Note a problem of an endpoint."""
        self.problems.setdefault(endpoint.index, []).append(text)


def ports(desired: Desired, present: Mapping[str, Port]) -> Ports:
    """Return the access ports of all endpoints. `present` are the interfaces that could be one.

    The interface of a VLAN belongs to the endpoint that names the VLAN, whatever patterns match it. Another interface
    that matches patterns of two endpoints belongs to the one with the lower index. The agent leaves an interface alone
    that is on a bridge of somebody else.
    """
    found = Ports()
    ordered = sorted(desired.endpoints, key=lambda e: e.index)
    ours = {bridge_name(e) for e in ordered}
    interfaces = {port.vlan: port for port in present.values() if port.vlan is not None}
    of_vlans: set[str] = set()
    for endpoint, vlan in [(e, vlan) for e in ordered for vlan in map(vlans.parse, e.ports) if vlan is not None]:
        # A name that somebody has given to another interface counts, as the name of any access port does.
        port = interfaces.get(vlan) or present.get(str(vlan))
        if port is not None and (port.vlan == vlan or not port.made):
            of_vlans.add(port.name)
            _assign(found, endpoint, port, ours)
        else:
            _make(found, endpoint, vlan, present)
    for endpoint in ordered:
        for name, port in sorted(present.items()):
            if name == "lo" or name in of_vlans or port.made:
                continue
            if any(fnmatchcase(name, pattern) for pattern in endpoint.ports):
                _assign(found, endpoint, port, ours)
    return found


def _make(found: Ports, endpoint: Endpoint, vlan: Vlan, present: Mapping[str, Port]) -> None:
    """Have the interface of a VLAN made, unless it cannot be."""
    other = next((one for one in found.missing if one.device == vlan.device), vlan)
    there = present.get(vlan.device)
    if vlan.trunk not in present:
        found.problem(endpoint, f"port {vlan} has no interface: there is no {vlan.trunk}")
    elif other != vlan or (there is not None and not there.made):
        found.problem(endpoint, f"port {vlan} has no interface: another one is called {vlan.device}")
    elif (owner := found.missing.setdefault(vlan, endpoint)) is not endpoint:
        found.problem(endpoint, f"port {vlan} already belongs to endpoint {owner.name}")


def _assign(found: Ports, endpoint: Endpoint, port: Port, ours: Collection[str]) -> None:
    owner = found.assigned.get(port.name)
    if owner is not None and owner is not endpoint:
        found.problem(endpoint, f"port {port.name} already belongs to endpoint {owner.name}")
    elif port.bridge is not None and port.bridge not in ours and not port.bridge.startswith("lan"):
        found.problem(endpoint, f"port {port.name} is on bridge {port.bridge}, which is not ours")
    else:
        found.assigned[port.name] = endpoint


def as_named(snapshot: Snapshot, endpoint: Endpoint) -> list[str]:
    """Return the access ports that are on the endpoint's bridge, with its own names for VLANs, whose interfaces may be
    called otherwise."""
    named = set(endpoint.ports)
    here = (port for port in snapshot.ports.values() if port.bridge == bridge_name(endpoint))
    return sorted(str(port.vlan) if str(port.vlan) in named else port.name for port in here)


def on_bridge(snapshot: Snapshot, endpoint: Endpoint) -> list[str]:
    """Return the names of the interfaces that are on the endpoint's bridge as access ports."""
    return sorted(p.name for p in snapshot.ports.values() if p.bridge == bridge_name(endpoint))
