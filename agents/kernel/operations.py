"""The operations on the kernel, as values: the steps of a plan. No I/O."""

import re
from dataclasses import dataclass
from dataclasses import fields as fields_of

from agents.kernel.snapshot import TABLES, Flood, Route, Rule, Vxlan, owner
from agents.kernel.vlans import Vlan

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class AddBridge:
    """Creates the bridge and leaves it down: no spanning tree, no forwarding delay, no multicast snooping."""

    name: str
    mac: str
    mtu: int


@dataclass(frozen=True, slots=True)
class AddVxlan:
    """Creates the device on its bridge with port flags and flood entries, and brings it up last."""

    vxlan: Vxlan


@dataclass(frozen=True, slots=True)
class AddVlan:
    """Brings the trunk up, and creates the VLAN's device on that bridge, up."""

    vlan: Vlan
    bridge: str


@dataclass(frozen=True, slots=True)
class AddTap:
    """Creates a tap device that stays when the program that uses it ends. The device is down."""

    name: str


@dataclass(frozen=True, slots=True)
class AddVeth:
    """Creates a pair of devices, both down: `name` here, and `peer` in the network namespace of the process `pid`."""

    name: str
    peer: str
    mac: str
    mtu: int
    pid: int


@dataclass(frozen=True, slots=True)
class SetLink:
    """Changes the properties that are not None."""

    name: str
    mac: str | None = None
    mtu: int | None = None
    up: bool | None = None


@dataclass(frozen=True, slots=True)
class SetPort:
    """Puts a tunnel device on a bridge with these port flags."""

    name: str
    bridge: str
    isolated: bool
    learning: bool


@dataclass(frozen=True, slots=True)
class Enslave:
    """Puts an access port on a bridge and brings it up."""

    name: str
    bridge: str


@dataclass(frozen=True, slots=True)
class Release:
    """Takes an access port off its bridge."""

    name: str


@dataclass(frozen=True, slots=True)
class DeleteLinks:
    """Brings devices down and deletes them all at once: the kernel waits for its readers once, not once per device."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddAddress:
    device: str
    address: str


@dataclass(frozen=True, slots=True)
class DeleteAddress:
    device: str
    address: str


@dataclass(frozen=True, slots=True)
class DeleteNeighbour:
    """Deletes the neighbour entry of an address in a LAN."""

    device: str
    address: str


@dataclass(frozen=True, slots=True)
class AddFlood:
    device: str
    flood: Flood


@dataclass(frozen=True, slots=True)
class DeleteFlood:
    device: str
    flood: Flood


@dataclass(frozen=True, slots=True)
class AddRoute:
    """Adds a route. `metric` keeps the routes of two LANs to the same remote apart, and puts all of them after
    connected routes."""

    route: Route
    metric: int


@dataclass(frozen=True, slots=True)
class DeleteRoute:
    route: Route


@dataclass(frozen=True, slots=True)
class AddRule:
    rule: Rule


@dataclass(frozen=True, slots=True)
class DeleteRule:
    rule: Rule


@dataclass(frozen=True, slots=True)
class WriteSysctl:
    """Writes a setting. `path` is below /proc/sys."""

    path: str
    value: str


Operation = (
    AddBridge
    | AddVxlan
    | AddVlan
    | AddTap
    | AddVeth
    | SetLink
    | SetPort
    | Enslave
    | Release
    | DeleteLinks
    | AddAddress
    | DeleteAddress
    | DeleteNeighbour
    | AddFlood
    | DeleteFlood
    | AddRoute
    | DeleteRoute
    | AddRule
    | DeleteRule
    | WriteSysctl
)


def describe(operation: Operation) -> str:
    """Return the operation in words, for the log and for problems."""
    match operation:
        case AddVxlan(v):
            floods = " and ".join(f"{f.vtep} on {f.vni}" for f in sorted(v.flood or ()))
            return f"add tunnel {v.name}: from {v.local}, receive on {v.vni}" + (
                f", send to {floods}" if floods else ""
            )
        case AddVlan(vlan, bridge):
            return f"add {vlan.device}, VLAN {vlan.vid} of {vlan.trunk}, to {bridge}"
        case AddFlood(device, flood) | DeleteFlood(device, flood):
            verb = "add" if isinstance(operation, AddFlood) else "delete"
            return f"{verb} flood entry of {device}: {flood.vtep} on {flood.vni}"
        case AddRoute(route) | DeleteRoute(route):
            verb = "add" if isinstance(operation, AddRoute) else "delete"
            return f"{verb} route to {route.prefix} over {route.device}, table {route.table}"
        case AddRule(rule) | DeleteRule(rule):
            verb = "add" if isinstance(operation, AddRule) else "delete"
            selector = f"in on {rule.interface}" if rule.interface else f"from {rule.source}"
            return f"{verb} rule: {selector}, table {rule.table}"
        case WriteSysctl(path, value):
            return f"set {path.replace('/', '.')} = {value}"
        case DeleteLinks(names):
            return f"delete {' '.join(names)}"
        case _:
            values = {f.name: getattr(operation, f.name) for f in fields_of(operation)}
            words = ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
            return f"{_WORDS.sub(' ', type(operation).__name__).lower()}: {words}"


def index_of(operation: Operation) -> int:
    """Return the index of the endpoint that an operation is for, or 0 if it is for none or for several."""
    match operation:
        case AddVxlan(vxlan):
            name = vxlan.name
        case AddRoute(route) | DeleteRoute(route):
            name = route.device
        case AddRule(rule) | DeleteRule(rule):
            return rule.table - TABLES
        case (
            AddAddress(device)
            | DeleteAddress(device)
            | DeleteNeighbour(device)
            | AddFlood(device)
            | DeleteFlood(device)
        ):
            name = device
        case Enslave(bridge=bridge) | AddVlan(bridge=bridge):
            name = bridge
        case WriteSysctl(path=path):
            name = path.split("/")[3] if path.count("/") > 3 else ""
        case DeleteLinks(names):
            return owner(names[0]) or 0 if len(names) == 1 else 0
        case SetLink(name) | SetPort(name) | AddBridge(name) | AddTap(name) | AddVeth(name) | Release(name):
            pass
    return owner(name) or 0
