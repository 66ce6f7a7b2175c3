"""The kernel's objects as values, and a snapshot of them. No I/O.

The agent knows its objects by name and kind: bridges `lan{index}`, VXLAN devices `pw{index}.{ve}` and `vx{index}`,
routes of protocol PROTOCOL, and VLAN devices of its own group. It changes nothing else, except for the access ports'
membership in a bridge.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.kernel.vlans import Vlan
from controller.wire.desired import GATEWAYS as GATEWAYS

VXLAN_PORT = 4789
"""IANA's UDP port for VXLAN (RFC 7348)."""

BGP_PORT = 179
"""IANA's TCP port for BGP (RFC 4271)."""

PROTOCOL = 87
"""Our routing protocol number in `ip route`. It marks the routes that the agent has added."""

MAIN = 254
"""The main routing table."""

TABLES = 5000
"""A LAN's own routing table is this plus the endpoint's index."""

DRIVEN = "wv"
"""The prefix of the names of machines' interfaces."""

_BRIDGE = re.compile(r"lan([1-9]\d{0,2})")
_TUNNEL = re.compile(r"(?:pw([1-9]\d{0,2})\.[1-9]\d{0,3}|vx([1-9]\d{0,2}))")


def bridge_index(name: str) -> int | None:
    """Return the endpoint index in a bridge's name, or None if the name is not one of ours."""
    match = _BRIDGE.fullmatch(name)
    return int(match[1]) if match else None


def tunnel_index(name: str) -> int | None:
    """Return the endpoint index in a tunnel device's name, or None if the name is not one of ours."""
    match = _TUNNEL.fullmatch(name)
    return int(match[1] or match[2]) if match else None


def owner(name: str) -> int | None:
    """Return the index of the endpoint that an interface of ours belongs to, or None for any other interface."""
    index = bridge_index(name)
    return tunnel_index(name) if index is None else index


def driven(name: str) -> bool:
    """Return whether the interface is a hypervisor driver's, which puts it on a LAN's bridge and removes it by
    itself."""
    return name.startswith(DRIVEN)


@dataclass(frozen=True, slots=True, order=True)
class Flood:
    """An all-zeros FDB entry: the device sends flooded frames to `vtep` with `vni`."""

    vtep: str
    vni: int


@dataclass(frozen=True, slots=True)
class Bridge:
    """A LAN's bridge. `addresses` are in CIDR form, without link-local ones."""

    name: str
    mac: str
    mtu: int
    up: bool
    addresses: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Vxlan:
    """A VXLAN device and its place on a bridge. It receives on `vni`. `isolated` and `learning` are the bridge port's
    flags. `flood` is None where another program (FRR) keeps the FDB."""

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
    """Any other interface and the bridge it is on. `vlan` is the VLAN that it is the interface of, if any; `made` says
    that the agent has made it."""

    name: str
    bridge: str | None
    vlan: Vlan | None = None
    made: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Route:
    """An on-link route: `prefix` is reached directly over `device`. `table` is the main one or a LAN's own."""

    prefix: str
    device: str
    table: int = MAIN


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """Packets that came in on `interface`, or else those from the address `source`, use `table` first. The rule's
    priority is the table's number; `family` is AF_INET or AF_INET6."""

    table: int
    family: int
    interface: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The kernel's state: our objects, and every interface that could be an access port. `sysctls` holds the values as
    read, for those requested settings that exist."""

    bridges: Mapping[str, Bridge] = field(default_factory=dict)
    vxlans: Mapping[str, Vxlan] = field(default_factory=dict)
    ports: Mapping[str, Port] = field(default_factory=dict)
    routes: frozenset[Route] = frozenset()
    rules: frozenset[Rule] = frozenset()
    sysctls: Mapping[str, str] = field(default_factory=dict)
