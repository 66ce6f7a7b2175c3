"""The kernel's objects as values: what was read (Snapshot) and what can be done (operations). No I/O.

Objects of the agent are known by name and kind: bridges `lan{index}`, VXLAN devices `pw{index}.{ve}` and
`vx{index}`, routes of protocol PROTOCOL. Nothing else is ever changed, but for access ports' membership in a bridge.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import fields as fields_of

VXLAN_PORT = 4789
"""IANA's UDP port for VXLAN (RFC 7348)."""

PROTOCOL = 87
"""Our routing protocol number in `ip route`: marks the routes that the agent put in."""

MAIN = 254
"""The main routing table."""

TABLES = 5000
"""A LAN's own routing table is this plus the endpoint's index."""

_BRIDGE = re.compile(r"lan([1-9]\d{0,2})")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TUNNEL = re.compile(r"(?:pw([1-9]\d{0,2})\.[1-9]\d{0,3}|vx([1-9]\d{0,2}))")


def bridge_index(name: str) -> int | None:
    """The endpoint index in a bridge's name; None if the name is not one of ours."""
    match = _BRIDGE.fullmatch(name)
    return int(match[1]) if match else None


def tunnel_index(name: str) -> int | None:
    """The endpoint index in a tunnel device's name; None if the name is not one of ours."""
    match = _TUNNEL.fullmatch(name)
    return int(match[1] or match[2]) if match else None


def owner(name: str) -> int | None:
    """The index of the endpoint that an interface of ours belongs to."""
    index = bridge_index(name)
    return tunnel_index(name) if index is None else index


@dataclass(frozen=True, slots=True, order=True)
class Flood:
    """An all-zeros FDB entry: frames go to `vtep` with `vni`."""

    vtep: str
    vni: int


@dataclass(frozen=True, slots=True)
class Bridge:
    """A LAN's bridge. `addresses` in CIDR form without link-local ones."""

    name: str
    mac: str
    mtu: int
    up: bool
    addresses: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Vxlan:
    """A VXLAN device and its place on a bridge. `vni` is the one it receives on; `isolated` and `learning` are the
    bridge port's flags. `flood` is None where somebody else (FRR) keeps the FDB."""

    name: str
    vni: int
    local: str
    mtu: int
    bridge: str | None
    isolated: bool
    learning: bool
    up: bool
    flood: frozenset[Flood] | None


@dataclass(frozen=True, slots=True)
class Port:
    """Any other interface and the bridge it is on."""

    name: str
    bridge: str | None


@dataclass(frozen=True, slots=True, order=True)
class Route:
    """An on-link route: `prefix` is reached directly over `device`. `table` is the main one or a LAN's own."""

    prefix: str
    device: str
    table: int = MAIN


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """Packets that came in on `interface`, or else those from the address `source`, are looked up in `table` first.
    The rule's priority is the table's number; `family` is AF_INET or AF_INET6."""

    table: int
    family: int
    interface: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the kernel has: our objects, and every interface that could be an access port. Values of `sysctls` are as
    read; only those that exist and that we care for are there."""

    bridges: Mapping[str, Bridge] = field(default_factory=dict)
    vxlans: Mapping[str, Vxlan] = field(default_factory=dict)
    ports: Mapping[str, Port] = field(default_factory=dict)
    routes: frozenset[Route] = frozenset()
    rules: frozenset[Rule] = frozenset()
    sysctls: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AddBridge:
    """Creates the bridge, down: no spanning tree, no forwarding delay, no multicast snooping."""

    name: str
    mac: str
    mtu: int


@dataclass(frozen=True, slots=True)
class AddVxlan:
    """Creates the device on its bridge with port flags and flood entries, and takes it up last."""

    vxlan: Vxlan


@dataclass(frozen=True, slots=True)
class SetLink:
    """Changes what is not None."""

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
    """Puts an access port on a bridge and takes it up."""

    name: str
    bridge: str


@dataclass(frozen=True, slots=True)
class Release:
    """Takes an access port off its bridge."""

    name: str


@dataclass(frozen=True, slots=True)
class DeleteLinks:
    """Takes devices down, then away, all at once: the kernel waits for its readers once, not once per device."""

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
class AddFlood:
    device: str
    flood: Flood


@dataclass(frozen=True, slots=True)
class DeleteFlood:
    device: str
    flood: Flood


@dataclass(frozen=True, slots=True)
class AddRoute:
    """`metric` keeps two LANs that reach the same remote apart, and all of them behind connected routes."""

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
    """`path` below /proc/sys."""

    path: str
    value: str


Operation = (
    AddBridge
    | AddVxlan
    | SetLink
    | SetPort
    | Enslave
    | Release
    | DeleteLinks
    | AddAddress
    | DeleteAddress
    | AddFlood
    | DeleteFlood
    | AddRoute
    | DeleteRoute
    | AddRule
    | DeleteRule
    | WriteSysctl
)


def describe(operation: Operation) -> str:
    """The operation in words, for the log and for problems."""
    match operation:
        case AddVxlan(v):
            floods = " and ".join(f"{f.vtep} on {f.vni}" for f in sorted(v.flood or ()))
            return f"add tunnel {v.name}: from {v.local}, receive on {v.vni}" + (
                f", send to {floods}" if floods else ""
            )
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
    """The index of the endpoint that an operation is for; 0 for what belongs to none or to several."""
    match operation:
        case AddVxlan(vxlan):
            name = vxlan.name
        case AddRoute(route) | DeleteRoute(route):
            name = route.device
        case AddRule(rule) | DeleteRule(rule):
            return rule.table - TABLES
        case AddAddress(device) | DeleteAddress(device) | AddFlood(device) | DeleteFlood(device):
            name = device
        case Enslave(bridge=bridge):
            name = bridge
        case WriteSysctl(path=path):
            name = path.split("/")[3] if path.count("/") > 3 else ""
        case DeleteLinks(names):
            return owner(names[0]) or 0 if len(names) == 1 else 0
        case SetLink(name) | SetPort(name) | AddBridge(name) | Release(name):
            pass
    return owner(name) or 0
