"""Turns fences into nft text. Pure.

The hooks: bridge prerouting sees every frame that comes out of a tunnel before the bridge learns its source, whether
the frame will be forwarded or go up to the gateway. Bridge postrouting sees every frame that goes into a tunnel,
forwarded or the gateway's own. Bridge input sets the mark for "came out of a tunnel" only on frames that go up to the
gateway: where net.bridge.bridge-nf-call-iptables is on, bridged frames pass `inet forward` too, and must not be taken
for routed ones (a VM that moved keeps an address of another LAN's prefix for a while).

A machine that moved here goes on sending to the gateway of the LAN that it came from. The fence turns the packets that
it wants routed to the gateway of the LAN where it is now; at the other LAN they would be transit.

Neighbour discovery crosses as ARP does, except for link-local addresses, and nobody on another LAN may speak as this
LAN's gateway: devices know their router by its link-local address, and one frame would turn them to another router.
Nobody at an access port may either: a DHCP server's or a router's messages come from the gateway, which is no port.
Frames that hide such a message are dropped too: those with a tag or another header in front of the packet (frames.py),
and those with an IPv6 header chain whose end cannot be read (RFC 7113).

VXLAN is accepted only from the VTEPs that share a pool, each with the VNIs of its own tunnels, because the kernel finds
a frame's device by its VNI alone. So a VTEP that shares one pool with this cloudlet has no way into another.
Connections to the ports where machines arrive are accepted from the same VTEPs only, because hypervisors do not check
who writes to a disk. agents/ipsec decides whether all this has to be encrypted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from itertools import pairwise

from agents.fence import frames
from agents.kernel.snapshot import GATEWAYS, VXLAN_PORT
from agents.nft.nft import FAMILIES

TABLE = "weft"

AT_PORTS = ("tagged-at", "wrapped-at", "dhcp-at", "router-at", "gateway-at", "hidden-at")
"""The reasons to drop a frame from an access port: a tag, another header in front of the packet, a message of a DHCP
server or of a router, the gateway's addresses, headers that cannot be read."""

OUTSIDE = "vxlan.outside"
"""The counter of VXLAN from a host that shares no pool with this cloudlet, or for an address that is not its VTEP."""

OTHER_VNI = "vxlan.other-vni"
"""The counter of VXLAN from the VTEP of a peer with a VNI that none of its tunnels has."""

UNASKED = "moves.outside"
"""The counter of attempts to connect to where machines arrive, by hosts that share no pool with this cloudlet."""

# One bit of the packet mark, so that other users of marks keep theirs.
_FROM_TUNNEL = 0x1000_0000
_MARKED = f"meta mark & {_FROM_TUNNEL:#x} != 0"

# The names of the families in nft, for `daddr` and for `nfproto`.
_FAMILIES = {4: ("ip", "ipv4"), 6: ("ip6", "ipv6")}

# Further destinations, by family, of packets for the gateway host itself: multicast, broadcast, link-local.
_ANYWHERE = {4: ("224.0.0.0/4", "255.255.255.255"), 6: ("fe80::/10", "ff00::/8")}

# Link-local addresses, which no gateway routes (RFC 3927, section 2.6.2; RFC 4291, section 2.5.6).
_UNROUTED = {4: "169.254.0.0/16", 6: "fe80::/10"}
_A_GATEWAY = f"ether daddr & ff:ff:00:00:00:00 == {GATEWAYS}:00:00:00:00"

# ICMPv6 types (RFC 4861, section 4). The target address is 8 octets into both neighbour messages; nft releases name it
# differently, and all of them can compare raw bits.
_ROUTER_MESSAGES = "133, 134, 137"
_ROUTERS_OWN = "134, 137"
_NEIGHBOUR_MESSAGES = "135, 136"
_ADVERTISEMENT = "136"
_TARGET = "@th,64,128"
_LINK_LOCAL = f"{int(ip_address('fe80::')):#x}-{int(ip_address('febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff')):#x}"

_VNI = "@th,96,24"
"""The VNI, after the UDP header's eight octets and four of VXLAN's (RFC 7348, section 5)."""

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,14}", re.ASCII)
_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,13}[A-Za-z0-9_.*-]?", re.ASCII)


@dataclass(frozen=True)
class Fence:
    """One LAN and its borders: the bridge, the tunnel ports (a name, or a prefix ending in `*`), and the LAN's own
    prefix in CIDR form. With IPv6 there are also `prefix6`, and `gateways6`, the gateway's own IPv6 addresses.
    `gateway` is its IPv4 address and `mac` its MAC. `ports` are the LAN's access ports: packets from there to another
    LAN's gateway are routed here, and nobody there may act as a gateway. `learns` says that the bridge learns MACs from
    the tunnels. `remotes` are prefixes that the gateway has on its link behind tunnels. Raises ValueError naming the
    field."""

    bridge: str
    tunnels: str
    prefix: str
    prefix6: str | None = None
    gateways6: tuple[str, ...] = ()
    mac: str | None = None
    ports: tuple[str, ...] = ()
    gateway: str | None = None
    learns: bool = False
    remotes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.bridge):
            raise ValueError(f"fence: bridge {self.bridge!r} is not an interface name")
        if not _PATTERN.fullmatch(self.tunnels):
            raise ValueError(f"fence {self.bridge}: tunnels {self.tunnels!r} is not an interface name or pattern")
        if self.mac is not None and not _MAC.fullmatch(self.mac):
            raise ValueError(f"fence {self.bridge}: mac {self.mac!r} is not an Ethernet address")
        for field, read, values in (
            ("prefix", ip_network, [self.prefix]),
            ("prefix6", IPv6Network, [self.prefix6] if self.prefix6 is not None else []),
            ("gateways6", IPv6Address, self.gateways6),
            ("remotes", ip_network, self.remotes),
            ("gateway", IPv4Address, [self.gateway] if self.gateway is not None else []),
        ):
            try:
                for value in values:
                    read(value)
            except ValueError as error:
                raise ValueError(f"fence {self.bridge}: {field}: {error}") from None

    def network(self, version: int) -> IPv4Network | IPv6Network | None:
        """Return the LAN's prefix of that IP version, or None if it has none."""
        networks = [ip_network(prefix) for prefix in (self.prefix, self.prefix6) if prefix is not None]
        return next((network for network in networks if network.version == version), None)

    @property
    def onlink(self) -> list[IPv4Network | IPv6Network]:
        """All prefixes whose addresses the gateway resolves itself."""
        return [ip_network(prefix) for prefix in (self.prefix, self.prefix6, *self.remotes) if prefix is not None]


@dataclass(frozen=True)
class Underlay:
    """The cloudlet's own VTEP; the tunnels that end there, each as the other end's VTEP and the VNI of its frames; and
    the TCP ports at which machines arrive."""

    vtep: str
    tunnels: frozenset[tuple[str, int]]
    arrivals: tuple[range, ...] = ()

    @property
    def peers(self) -> frozenset[str]:
        """The VTEPs at the other ends."""
        return frozenset(vtep for vtep, _ in self.tunnels)


def ruleset(fences: Sequence[Fence], underlay: Underlay | None = None) -> str:
    """Return the text for `nft -f` that replaces the tables `bridge weft` and `inet weft` in one transaction.

    Equal sets of fences give equal text; without fences there are no tables. Each drop has a counter `BRIDGE.REASON`;
    those of the underlay are `vxlan.outside`, `vxlan.other-vni` and `moves.outside`. Raises ValueError when two fences
    name one bridge.
    """
    ordered = sorted(fences, key=lambda f: f.bridge)
    for one, other in pairwise(ordered):
        if one.bridge == other.bridge:
            raise ValueError(f"fence {one.bridge}: there twice")
    # `delete` fails on a table that is not there, so `table` first adds it if it is missing.
    lines = [line for family in FAMILIES for line in (f"table {family} {TABLE}", f"delete table {family} {TABLE}")]
    if ordered:
        lines += _bridge_table(ordered) + _inet_table(ordered, underlay)
    return "\n".join(lines) + "\n"


def _bridge_table(fences: list[Fence]) -> list[str]:
    lines = [f"table bridge {TABLE} {{"]
    for fence in fences:
        spoofed = ["gateway-in"] if fence.gateways6 else []
        hiding = (f"{reason}-{way}" for way in ("in", "out") for reason in ("tagged", "wrapped"))
        lines += _counters(fence, *hiding, "dhcp-in", "nd-in", *spoofed, "dhcp-out", "nd-out")
        known = fence.mac or fence.gateway or fence.gateways6
        lines += _counters(fence, *(reason for reason in AT_PORTS if known or reason != "gateway-at"))
    for fence in fences:
        for way in ("in", "out"):
            lines += _chain(f"{fence.bridge}.{way}", _frames_to_drop(fence, way))
        lines += _chain(f"{fence.bridge}.at", _impostors_to_drop(fence))
        if fence.mac is not None:
            lines += _chain(f"{fence.bridge}.visitors", _frames_to_turn(fence, fence.mac))
    access = [f"iifname {ports} jump {f.bridge}.at" for f in fences if (ports := access_ports(f))]
    visitors = [rule for fence in fences for rule in _visitors(fence)]
    lines += _base(
        "prerouting", "prerouting", [*(f'iifname "{f.tunnels}" jump {f.bridge}.in' for f in fences), *access, *visitors]
    )
    lines += _base(
        "input", "input", [f'iifname "{f.tunnels}" meta mark set meta mark | {_FROM_TUNNEL:#x}' for f in fences]
    )
    lines += _base("postrouting", "postrouting", [f'oifname "{f.tunnels}" jump {f.bridge}.out' for f in fences])
    return [*lines, "}"]


def _visitors(fence: Fence) -> list[str]:
    """Return the rules for frames from an access port to the gateway of another LAN. They name ports, because not every
    kernel tells nft the name of the bridge."""
    ports = access_ports(fence)
    if fence.mac is None or not ports:
        return []
    return [f"iifname {ports} {_A_GATEWAY} ether daddr != {fence.mac} jump {fence.bridge}.visitors"]


def access_ports(fence: Fence) -> str:
    """Return the LAN's access ports as nft writes a set of names; empty if it has none."""
    names = ", ".join(f'"{port}"' for port in sorted(fence.ports) if _NAME.fullmatch(port))
    return f"{{ {names} }}" if names else ""


def _impostors_to_drop(fence: Fence) -> list[str]:
    """Return the rules that drop messages which only this cloudlet may send on the LAN: as a DHCP server, as a router,
    from its gateway's addresses."""
    tagged, wrapped, dhcp, router, gateway, hidden = (_drop(fence, reason) for reason in AT_PORTS)
    rules = [
        *(f"{match} {tagged}" for match in frames.TAGGED),
        *(f"{match} {wrapped}" for match in (*frames.WRAPPED, *frames.NO_BPDU)),
        f"udp sport {{ 67, 547 }} {dhcp}",
        f"udp dport {{ 68, 546 }} {dhcp}",
        f"icmpv6 type {{ {_ROUTERS_OWN} }} {router}",
    ]
    if fence.mac is not None:
        rules.append(f"ether saddr {fence.mac} {gateway}")
    if fence.gateway is not None:
        rules += [f"arp saddr ip {fence.gateway} {gateway}", f"ip saddr {fence.gateway} {gateway}"]
    if fence.gateways6:
        rules += _as_gateway6(fence, gateway)
    return [*rules, "ether type ip6 meta l4proto 0-255 return", f"ether type ip6 {hidden}"]


def _frames_to_turn(fence: Fence, mac: str) -> list[str]:
    """Return the rules that redirect packets, which that gateway would route, to this LAN's gateway; ARP and discovery
    still reach the other one. The rules also set the packet type, which the kernel has determined before."""
    rules = ["icmpv6 type 133-137 return"]
    for version, (family, _) in _FAMILIES.items():
        if fence.network(version) is not None:
            rules.append(f"{family} daddr != {_UNROUTED[version]} ether daddr set {mac} meta pkttype set host")
    return rules


def _frames_to_drop(fence: Fence, way: str) -> list[str]:
    """Return the rules that drop frames at a tunnel. A LAN is untagged: a tag (of VLAN 0, say) would only hide the
    packet from the other rules. BPDUs stay at home too, because one LAN's spanning tree does not concern another's
    switches."""
    return [
        *(f"{match} {_drop(fence, f'tagged-{way}')}" for match in frames.TAGGED),
        *(f"{match} {_drop(fence, f'wrapped-{way}')}" for match in (*frames.WRAPPED, frames.LENGTH)),
        f"udp dport {{ 67, 68, 546, 547 }} {_drop(fence, f'dhcp-{way}')}",
        *_discovery_to_drop(fence, way),
    ]


def _discovery_to_drop(fence: Fence, way: str) -> list[str]:
    """Return the rules that drop discovery at a tunnel. On a LAN without IPv6 they drop all of it. Otherwise they drop
    routers' messages, messages about link-local addresses, and those that come in from the gateway's address or
    advertise it. Messages about other addresses pass whatever the prefix, as a machine that moved keeps its own; the
    tunnels decide to whom they go."""
    nd = _drop(fence, f"nd-{way}")
    if fence.network(6) is None:
        return [f"icmpv6 type 133-137 {nd}"]
    rules = [
        f"icmpv6 type {{ {_ROUTER_MESSAGES} }} {nd}",
        f"icmpv6 type {{ {_NEIGHBOUR_MESSAGES} }} {_TARGET} {_LINK_LOCAL} {nd}",
    ]
    if way == "in" and fence.gateways6:
        rules += _as_gateway6(fence, _drop(fence, "gateway-in"))
    return rules


def _as_gateway6(fence: Fence, drop: str) -> list[str]:
    targets = ", ".join(f"{int(ip_address(gateway)):#034x}" for gateway in fence.gateways6)
    return [
        f"ip6 saddr {{ {', '.join(fence.gateways6)} }} {drop}",
        f"icmpv6 type {_ADVERTISEMENT} {_TARGET} {{ {targets} }} {drop}",
    ]


def _inet_table(fences: list[Fence], underlay: Underlay | None) -> list[str]:
    lines = [f"table inet {TABLE} {{"]
    if underlay is not None:
        lines += [f"\tcounter {reason} {{ }}" for reason in (OUTSIDE, OTHER_VNI, UNASKED)]
        kind, family = _address_type(underlay), _FAMILIES[ip_address(underlay.vtep).version][0]
        lines += _set("vteps", kind, sorted(underlay.peers))
        tunnels = [f"{vtep} . {vni:#x}" for vtep, vni in sorted(underlay.tunnels)]
        lines += _set("tunnels", f"typeof {family} saddr . {_VNI};", tunnels)
        lines += _set("vnis", f"typeof {_VNI};", [f"{vni:#x}" for vni in sorted({vni for _, vni in underlay.tunnels})])
        lines += _base("underlay", "input", _strangers_to_drop(underlay))
    lines += _set("lans", "type ifname;", [f'"{f.bridge}"' for f in fences])
    for version, kind in ((4, "ipv4_addr"), (6, "ipv6_addr")):
        networks = [str(network) for fence in fences if (network := fence.network(version)) is not None]
        lines += _set(f"prefixes{version}", f"type {kind}; flags interval; auto-merge;", networks)
    for fence in fences:
        lines += _counters(fence, "transit", "host", "other-lan", *(["redirect"] if fence.network(6) else []))
    for fence in fences:
        lines += _chain(f"{fence.bridge}.forward", _packets_to_drop(fence))
        lines += _chain(f"{fence.bridge}.input", _deliveries_to_drop(fence))
    for hook in ("forward", "input"):
        jumps = ", ".join(f'"{f.bridge}" : jump {f.bridge}.{hook}' for f in fences)
        lines += _base(hook, hook, [f"iifname vmap {{ {jumps} }}"])
    lines += _base("output", "output", [_redirects_to_drop(fence) for fence in fences if fence.network(6)])
    return [*lines, "}"]


def _address_type(underlay: Underlay) -> str:
    return "type ipv4_addr;" if ip_address(underlay.vtep).version == 4 else "type ipv6_addr;"


def _strangers_to_drop(underlay: Underlay) -> list[str]:
    """Return the rules that drop packets of strangers. They also drop VXLAN with our VNIs to another address of this
    host, such as a gateway's: the kernel accepts it there as well, but other programs may use the port with VNIs of
    their own. Of TCP they drop only the first packet of a connection, because connections from here use the same
    ports."""
    version = ip_address(underlay.vtep).version
    family, _ = _FAMILIES[version]
    _, other = _FAMILIES[10 - version]
    here, stranger = f"{family} daddr {underlay.vtep}", f"{family} saddr != @vteps"
    opening = f'iifname != "lo" {stranger} tcp flags & (syn | ack) == syn'
    return [
        f"{here} udp dport {VXLAN_PORT} {stranger} counter name {OUTSIDE} drop",
        f"{here} udp dport {VXLAN_PORT} {family} saddr . {_VNI} != @tunnels counter name {OTHER_VNI} drop",
        f"{family} daddr != {underlay.vtep} udp dport {VXLAN_PORT} {_VNI} @vnis counter name {OUTSIDE} drop",
        f"meta nfproto {other} udp dport {VXLAN_PORT} {_VNI} @vnis counter name {OUTSIDE} drop",
        *(
            f"{here} tcp dport {ports.start}-{ports.stop - 1} {opening} counter name {UNASKED} drop"
            for ports in underlay.arrivals
        ),
    ]


def _redirects_to_drop(fence: Fence) -> str:
    """Return the rule that drops the gateway's own redirects: after a leave a device must not believe that a remote's
    address is on its link."""
    return f'oifname "{fence.bridge}" icmpv6 type 137 {_drop(fence, "redirect")}'


def _packets_to_drop(fence: Fence) -> list[str]:
    """Return the rules for routed packets: from a tunnel only into the own prefix, from the LAN never into another
    LAN."""
    rules = []
    for version, (family, protocol) in _FAMILIES.items():
        own = fence.network(version)
        beyond = f"{family} daddr != {own}" if own else f"meta nfproto {protocol}"
        rules.append(f"{_MARKED} {beyond} {_drop(fence, 'transit')}")
    return [*rules, f'oifname @lans oifname != "{fence.bridge}" {_drop(fence, "other-lan")}']


def _deliveries_to_drop(fence: Fence) -> list[str]:
    """Return the rules for packets to this host: from a tunnel only to its address on the LAN, from the LAN to no other
    LAN's gateway."""
    rules = []
    for version, (family, _) in _FAMILIES.items():
        own = fence.network(version)
        allowed = ", ".join([*([str(own)] if own else []), *_ANYWHERE[version]])
        rules.append(f"{_MARKED} {family} daddr != {{ {allowed} }} {_drop(fence, 'host')}")
        but_own = f"{family} daddr != {own} " if own else ""
        rules.append(f"{family} daddr @prefixes{version} {but_own}{_drop(fence, 'other-lan')}")
    return rules


def _counters(fence: Fence, *reasons: str) -> list[str]:
    return [f"\tcounter {fence.bridge}.{reason} {{ }}" for reason in reasons]


def _drop(fence: Fence, reason: str) -> str:
    return f"counter name {fence.bridge}.{reason} drop"


def _set(name: str, kind: str, elements: list[str]) -> list[str]:
    members = [f"\t\telements = {{ {', '.join(elements)} }}"] if elements else []
    return [f"\tset {name} {{", f"\t\t{kind}", *members, "\t}"]


def _chain(name: str, rules: list[str]) -> list[str]:
    return [f"\tchain {name} {{", *(f"\t\t{rule}" for rule in rules), "\t}"]


def _base(name: str, hook: str, rules: list[str]) -> list[str]:
    return _chain(name, [f"type filter hook {hook} priority filter; policy accept;", *rules])
