"""From fences to nft text. Pure.

Why these hooks: bridge prerouting sees every frame that comes out of a tunnel, whether it will be forwarded or go up to
the gateway, before the bridge learns its source; bridge postrouting sees every frame that goes into one, forwarded or
the gateway's own. The mark for "came out of a tunnel" is set in bridge input, on frames that go up to the gateway and
on no other: where net.bridge.bridge-nf-call-iptables is on, bridged frames pass `inet forward` too, and must not be
taken for routed ones (a VM that moved keeps an address of another LAN's prefix for a while).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from itertools import pairwise

TABLE = "weft"
FAMILIES = ("bridge", "inet")

# One bit of the packet mark, so that other users of marks keep theirs.
_FROM_TUNNEL = 0x1000_0000
_MARKED = f"meta mark & {_FROM_TUNNEL:#x} != 0"

# Within a family, what a packet for the gateway host itself may also be addressed to: multicast, broadcast, link-local.
_ANYWHERE = {4: ("224.0.0.0/4", "255.255.255.255"), 6: ("fe80::/10", "ff00::/8")}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,14}", re.ASCII)
_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,13}[A-Za-z0-9_.*-]?", re.ASCII)


@dataclass(frozen=True)
class Fence:
    """One LAN and where it meets others: its bridge, the tunnel ports (a name, or a prefix ending in `*`), and the
    LAN's own prefix in CIDR form. Raises ValueError naming the field."""

    bridge: str
    tunnels: str
    prefix: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.bridge):
            raise ValueError(f"fence: bridge {self.bridge!r} is not an interface name")
        if not _PATTERN.fullmatch(self.tunnels):
            raise ValueError(f"fence {self.bridge}: tunnels {self.tunnels!r} is no interface name or pattern")
        try:
            ip_network(self.prefix)
        except ValueError as error:
            raise ValueError(f"fence {self.bridge}: prefix: {error}") from None

    @property
    def network(self) -> IPv4Network | IPv6Network:
        """The prefix as a network."""
        return ip_network(self.prefix)


def ruleset(fences: Sequence[Fence]) -> str:
    """The text for `nft -f` that replaces the tables `bridge weft` and `inet weft` in one transaction.

    Equal sets of fences give equal text; no fences, no tables. Each drop has a counter `BRIDGE.REASON`. Raises
    ValueError when two fences name one bridge.
    """
    ordered = sorted(fences, key=lambda f: f.bridge)
    for one, other in pairwise(ordered):
        if one.bridge == other.bridge:
            raise ValueError(f"fence {one.bridge}: there twice")
    # `delete` fails on a table that is not there, and `table` adds one that is not: so first the one, then the other.
    lines = [line for family in FAMILIES for line in (f"table {family} {TABLE}", f"delete table {family} {TABLE}")]
    if ordered:
        lines += _bridge_table(ordered) + _inet_table(ordered)
    return "\n".join(lines) + "\n"


def _bridge_table(fences: list[Fence]) -> list[str]:
    lines = [f"table bridge {TABLE} {{"]
    for fence in fences:
        lines += _counters(fence, "tagged-in", "dhcp-in", "nd-in", "tagged-out", "dhcp-out", "nd-out")
    for fence in fences:
        for way in ("in", "out"):
            lines += _chain(f"{fence.bridge}.{way}", _frames_to_drop(fence, way))
    lines += _base("prerouting", [f'iifname "{f.tunnels}" jump {f.bridge}.in' for f in fences])
    lines += _base("input", [f'iifname "{f.tunnels}" meta mark set meta mark | {_FROM_TUNNEL:#x}' for f in fences])
    lines += _base("postrouting", [f'oifname "{f.tunnels}" jump {f.bridge}.out' for f in fences])
    return [*lines, "}"]


def _frames_to_drop(fence: Fence, way: str) -> list[str]:
    """A LAN is untagged; a tag (of VLAN 0, say) would only hide what is in the frame from the rules below."""
    return [
        f"ether type {{ 0x8100, 0x88a8, 0x9100 }} {_drop(fence, f'tagged-{way}')}",
        f"udp dport {{ 67, 68, 546, 547 }} {_drop(fence, f'dhcp-{way}')}",
        f"icmpv6 type 133-137 {_drop(fence, f'nd-{way}')}",
    ]


def _inet_table(fences: list[Fence]) -> list[str]:
    lines = [f"table inet {TABLE} {{"]
    lines += _set("lans", "type ifname;", [f'"{f.bridge}"' for f in fences])
    for version, kind in ((4, "ipv4_addr"), (6, "ipv6_addr")):
        networks = [str(f.network) for f in fences if f.network.version == version]
        lines += _set(f"prefixes{version}", f"type {kind}; flags interval; auto-merge;", networks)
    for fence in fences:
        lines += _counters(fence, "transit", "host", "other-lan")
    for fence in fences:
        lines += _chain(f"{fence.bridge}.forward", _packets_to_drop(fence))
        lines += _chain(f"{fence.bridge}.input", _deliveries_to_drop(fence))
    for hook in ("forward", "input"):
        jumps = ", ".join(f'"{f.bridge}" : jump {f.bridge}.{hook}' for f in fences)
        lines += _base(hook, [f"iifname vmap {{ {jumps} }}"])
    return [*lines, "}"]


def _packets_to_drop(fence: Fence) -> list[str]:
    """Routed packets: from a tunnel only into the own prefix, from the LAN never into another LAN."""
    own, foreign = _families(fence)
    return [
        f"{_MARKED} {own} daddr != {fence.network} {_drop(fence, 'transit')}",
        f"{_MARKED} meta nfproto {foreign} {_drop(fence, 'transit')}",
        f'oifname @lans oifname != "{fence.bridge}" {_drop(fence, "other-lan")}',
    ]


def _deliveries_to_drop(fence: Fence) -> list[str]:
    """Packets for this host: from a tunnel only to its address on the LAN, from the LAN to no other LAN's gateway."""
    version = fence.network.version
    rules = []
    for family, number in (("ip", 4), ("ip6", 6)):
        own = [str(fence.network)] if number == version else []
        allowed = ", ".join([*own, *_ANYWHERE[number]])
        rules.append(f"{_MARKED} {family} daddr != {{ {allowed} }} {_drop(fence, 'host')}")
        but_own = f"{family} daddr != {fence.network} " if own else ""
        rules.append(f"{family} daddr @prefixes{number} {but_own}{_drop(fence, 'other-lan')}")
    return rules


def _families(fence: Fence) -> tuple[str, str]:
    """The nft names of the prefix's own family for `daddr`, and of the other one for `nfproto`."""
    return ("ip", "ipv6") if fence.network.version == 4 else ("ip6", "ipv4")


def _counters(fence: Fence, *reasons: str) -> list[str]:
    return [f"\tcounter {fence.bridge}.{reason} {{ }}" for reason in reasons]


def _drop(fence: Fence, reason: str) -> str:
    return f"counter name {fence.bridge}.{reason} drop"


def _set(name: str, kind: str, elements: list[str]) -> list[str]:
    members = [f"\t\telements = {{ {', '.join(elements)} }}"] if elements else []
    return [f"\tset {name} {{", f"\t\t{kind}", *members, "\t}"]


def _chain(name: str, rules: list[str]) -> list[str]:
    return [f"\tchain {name} {{", *(f"\t\t{rule}" for rule in rules), "\t}"]


def _base(hook: str, rules: list[str]) -> list[str]:
    return _chain(hook, [f"type filter hook {hook} priority filter; policy accept;", *rules])
