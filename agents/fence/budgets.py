"""Turns the budgets of each port into nft text. Budgets limit what the kernel remembers for a port, and how often the
agent answers it. Pure.

A bridge keeps each source MAC that it hears for 300 s. A gateway keeps an entry for each neighbour that speaks to it,
or that it looks for (RFC 6583 describes the consequences). Neither has a limit per port. The kernel keeps as many MACs
as one port makes up. The whole machine shares the neighbour tables: when one port has filled them, no LAN's gateway
reaches a host that it does not know yet. So a port has a budget for new things: so many at once, and so many a second
over time. Once it is spent, a frame with something new at that port is dropped before the kernel sees it. Things that
are known at a port stay known for as long as the kernel remembers them, and their frames pass. Of requests to the agent
itself, each frame counts.

The fences' tables are replaced at each change. This table stays with all that it has counted, and only its rules
change.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from agents.fence.rules import Fence, access_ports

TABLE = "weft-budgets"

REMEMBERED = 300
"""Seconds for which a bridge remembers a MAC (linux/if_bridge.h, BR_DEFAULT_AGEING_TIME). The kernel forgets unused
neighbours sooner."""

TUNNEL = 4
"""A tunnel's budget is so many times an access port's, because whole LANs are behind it."""

_HOOKS = ("prerouting", "input")
_LINK_LOCAL = ip_network("fe80::/10")
_PORTS, _KNOWN = 65_536, 2**21  # sizes of the sets, which take memory as they fill


@dataclass(frozen=True)
class Budget:
    """The budget of one port for one kind of thing. `key` is the part of a frame that is the thing, and `kind` its
    type, in nft's terms; without a key each frame is one thing. Its counters are `BRIDGE.REASON-at` for access ports
    and `BRIDGE.REASON-in` for tunnels."""

    name: str
    reason: str
    hook: str
    key: str
    kind: str
    burst: int
    rate: int
    match: str = ""

    @property
    def most(self) -> int:
        """The most entries that the kernel remembers for an access port."""
        return self.burst + self.rate * REMEMBERED


MACS = Budget("macs", "crowd", "prerouting", "ether saddr", "type ifname . ether_addr", 4096, 14)
"""New MACs, dropped before the bridge learns them. On tunnels only where the bridge learns from them (VPLS): EVPN's
MACs come by BGP, which has limits."""

_TARGET = "@th,64,128"
_FOUR, _SIX = "type ifname . ipv4_addr", "type ifname . ipv6_addr"
_ENTRIES = 1024, 4

NEIGHBOURS = (
    Budget("senders", "speakers", "input", "arp saddr ip", _FOUR, *_ENTRIES, "ether type arp"),
    Budget("advertisers", "speakers", "input", _TARGET, f"typeof iifname . {_TARGET}", *_ENTRIES, "icmpv6 type 136"),
    Budget("sources4", "speakers", "input", "ip saddr", _FOUR, *_ENTRIES, "ip saddr @onlink4"),
    Budget("sources6", "speakers", "input", "ip6 saddr", _SIX, *_ENTRIES, "ip6 saddr @onlink6"),
    Budget("sought4", "scan", "input", "ip daddr", _FOUR, *_ENTRIES, "ip daddr @onlink4"),
    Budget("sought6", "scan", "input", "ip6 daddr", _SIX, *_ENTRIES, "ip6 daddr @onlink6"),
)
"""New neighbours of the gateway alone: senders of ARP or discovery, on-link addresses of senders that may be answered,
and on-link addresses that packets are routed to."""

REQUESTS = Budget("requests", "requests", "input", "", "", 500, 100, "udp dport { 67, 547 }")
SOLICITATIONS = Budget("solicitations", "requests", "input", "", "", 500, 100, "icmpv6 type 133")
"""DHCP requests and router solicitations, which the agent answers for all LANs."""

ALL = (MACS, *NEIGHBOURS, REQUESTS, SOLICITATIONS)
REASONS = tuple(dict.fromkeys(budget.reason for budget in ALL))


def budgets(fences: Sequence[Fence], gone: Iterable[str] = ()) -> str:
    """Return the text for `nft -f` that makes the table `bridge weft-budgets` if it is missing, and replaces its rules.
    Bridges that are `gone` lose their counters, which would count for the next LAN of that name. Without fences there
    is no table."""
    if not fences:
        return f"table bridge {TABLE}\ndelete table bridge {TABLE}\n"
    ordered = sorted(fences, key=lambda fence: fence.bridge)
    old = sorted(set(gone) - {fence.bridge for fence in ordered})
    chains = {budget.name: list(_rules(budget, ordered)) for budget in ALL}
    for hook in _HOOKS:
        chains[hook] = [f"{budget.match} jump {budget.name}".strip() for budget in ALL if budget.hook == hook]
    counters = [counter for fence in ordered for counter in _counters(fence.bridge)]
    unneeded = [counter for bridge in old for counter in _counters(bridge)]
    lines = [
        f"table bridge {TABLE} {{",
        *(f"\tcounter {name} {{ }}" for name in (*counters, *unneeded)),
        *(line for budget in ALL for line in _sets(budget)),
        *(f"\tset onlink{version} {{ type ipv{version}_addr; flags interval; auto-merge; }}" for version in "46"),
        *(f"\tchain {budget.name} {{ }}" for budget in ALL),
        *(f"\tchain {hook} {{ type filter hook {hook} priority filter + 1; policy accept; }}" for hook in _HOOKS),
        "}",
        *(f"flush chain bridge {TABLE} {name}" for name in chains),
        *(f"flush set bridge {TABLE} onlink{version}" for version in "46"),
        f"table bridge {TABLE} {{",
    ]
    for name, rules in chains.items():
        lines += [f"\tchain {name} {{", *(f"\t\t{rule}" for rule in rules), "\t}"]
    lines += ["}", *(f"delete counter bridge {TABLE} {name}" for name in unneeded)]
    onlink = [*(prefix for fence in ordered for prefix in fence.onlink), _LINK_LOCAL]
    for version in (4, 6):
        if prefixes := [str(prefix) for prefix in onlink if prefix.version == version]:
            lines.append(f"add element bridge {TABLE} onlink{version} {{ {', '.join(prefixes)} }}")
    return "\n".join(lines) + "\n"


def _counters(bridge: str) -> list[str]:
    return [f"{bridge}.{reason}-{way}" for reason in REASONS for way in ("at", "in")]


def _sets(budget: Budget) -> Iterator[str]:
    if budget.key:
        dynamic = f"timeout {REMEMBERED}s; flags dynamic,timeout;"
        yield f"\tset known-{budget.name} {{ {budget.kind}; size {_KNOWN}; {dynamic} }}"
    yield f"\tset new-{budget.name} {{ type ifname; size {_PORTS}; timeout {2 * REMEMBERED}s; flags dynamic,timeout; }}"


def _rules(budget: Budget, fences: Sequence[Fence]) -> Iterator[str]:
    """Yield the rules of a budget. They name ports, because not every kernel tells nft the name of the bridge."""
    known = f"update @known-{budget.name} {{ iifname . {budget.key} }}" if budget.key else ""
    if known:
        yield f"iifname . {budget.key} @known-{budget.name} {known} return"
    for fence in fences:
        tunnels = f'"{fence.tunnels}"' if fence.learns or budget is not MACS else ""
        for ports, way, times in ((access_ports(fence), "at", 1), (tunnels, "in", TUNNEL)):
            if ports:
                over = f"iifname limit rate over {times * budget.rate}/second burst {times * budget.burst} packets"
                drop = f"counter name {fence.bridge}.{budget.reason}-{way} drop"
                yield f"iifname {ports} update @new-{budget.name} {{ {over} }} {drop}"
            if ports and known:
                yield f"iifname {ports} {known}"
