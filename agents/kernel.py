"""The kernel's objects as values: what was read (Snapshot) and what can be done (operations). No I/O.

Objects of the agent are known by name and kind: bridges `lan{index}`, VXLAN devices `pw{index}.{ve}` and
`vx{index}`, routes of protocol PROTOCOL. Nothing else is ever changed, but for access ports' membership in a bridge.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

VXLAN_PORT = 4789
"""IANA's UDP port for VXLAN (RFC 7348)."""

PROTOCOL = 87
"""Our routing protocol number in `ip route`: marks the routes that the agent put in."""

_BRIDGE = re.compile(r"lan([1-9]\d{0,2})")
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
    """An on-link route: `prefix` is reached directly over `device`."""

    prefix: str
    device: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the kernel has: our objects, and every interface that could be an access port. Values of `sysctls` are as
    read; only those that exist and that we care for are there."""

    bridges: Mapping[str, Bridge] = field(default_factory=dict)
    vxlans: Mapping[str, Vxlan] = field(default_factory=dict)
    ports: Mapping[str, Port] = field(default_factory=dict)
    routes: frozenset[Route] = frozenset()
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
class DeleteLink:
    name: str


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
    | DeleteLink
    | AddAddress
    | DeleteAddress
    | AddFlood
    | DeleteFlood
    | AddRoute
    | DeleteRoute
    | WriteSysctl
)


def device_of(operation: Operation) -> str:
    """The interface an operation is about; empty for a sysctl of the whole namespace."""
    match operation:
        case AddVxlan(vxlan):
            return vxlan.name
        case AddRoute(route=route) | DeleteRoute(route=route):
            return route.device
        case AddAddress(device=device) | DeleteAddress(device=device):
            return device
        case AddFlood(device=device) | DeleteFlood(device=device):
            return device
        case Enslave(bridge=bridge):
            return bridge
        case WriteSysctl(path=path):
            parts = path.split("/")
            return parts[3] if len(parts) > 4 and parts[3] != "all" else ""
        case _:
            return operation.name
