"""Turns LANs into nft text and elements. Pure.

The source guard has its own table, after the fences and before the sightings, so that a dropped packet is no sighting.
Each LAN has sets, whose elements change while the rules stay. `held` says who may use which address, `bound` which
addresses have a holder at all, and `ranges` which addresses nobody but a holder may use. An ARP message is compared
twice: by its sender's MAC, and by the frame's.

The target of a neighbour advertisement is compared with the frame's MAC as raw bits, which every nft release can do
(`target`, `about`, `near`).

DHCP passes from any address: a client that has slept renews from its earlier one. Questions whether an address is free,
from 0.0.0.0 or from ::, pass too.
"""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from agents.sources.lan import GuardedLan, Macs

TABLE = "weft-sources"
REASON = "source-at"
"""The counter of packets from somebody else's address has this name, after the bridge's name and a dot."""

Change = tuple[str, str]
"""The name of a set, and an element."""

_TYPES = {
    "held4": "type ether_addr . ipv4_addr;",
    "bound4": "type ipv4_addr;",
    "ranges4": "type ipv4_addr; flags interval;",
    "held6": "type ether_addr . ipv6_addr;",
    "bound6": "type ipv6_addr;",
    "ranges6": "type ipv6_addr; flags interval;",
    "target": "typeof ether saddr . @th,64,128;",
    "about": "typeof @th,64,128;",
    "near": "typeof @th,64,128; flags interval;",
}


def ruleset(lans: Iterable[GuardedLan]) -> str:
    """Return the text for `nft -f` that replaces the table, with all held addresses."""
    ordered = sorted(lans, key=lambda lan: lan.bridge)
    lines = [f"table bridge {TABLE}", f"delete table bridge {TABLE}"]
    if ordered:
        lines.append(f"table bridge {TABLE} {{")
        for lan in ordered:
            lines += [f"\tcounter {lan.bridge}.{REASON} {{ }}", *_sets(lan)]
            lines += [f"\tchain {lan.bridge} {{", *(f"\t\t{rule}" for rule in _rules(lan)), "\t}"]
        hook = "\t\ttype filter hook prerouting priority filter + 2; policy accept;"
        lines += ["\tchain prerouting {", hook, *_jumps(ordered), "\t}", "}"]
    return "\n".join(lines) + "\n"


def ports(lans: Iterable[GuardedLan]) -> str:
    """Return the text that changes only which ports are guarded."""
    jumps = _jumps(sorted(lans, key=lambda lan: lan.bridge))
    lines = [f"flush chain bridge {TABLE} prerouting", f"table bridge {TABLE} {{", "\tchain prerouting {", *jumps]
    return "\n".join([*lines, "\t}", "}"]) + "\n"


def changes(lan: GuardedLan, offset: int, before: Macs, now: Macs) -> Iterator[tuple[Change, bool]]:
    """Yield the elements that change when an address changes hands, each with whether it is to be there."""
    for address in lan.addresses(offset):
        raw = _raw(address)
        held, bound, more = ("held6", "bound6", True) if ":" in address else ("held4", "bound4", False)
        for macs, there in ((before - now, False), (now - before, True)):
            for mac in sorted(macs):
                yield (f"{lan.bridge}.{held}", f"{mac} . {address}"), there
                if more:
                    yield (f"{lan.bridge}.target", f"{mac} . {raw}"), there
        if bool(before) != bool(now):
            yield (f"{lan.bridge}.{bound}", address), bool(now)
            if more:
                yield (f"{lan.bridge}.about", raw), bool(now)


def elements_of(lan: GuardedLan, ranges: Iterable[tuple[int, int]]) -> set[Change]:
    """Return the elements for ranges of the LAN, given as first and last offset."""
    found = set()
    for first, last in ranges:
        for low, high in zip(lan.addresses(first), lan.addresses(last), strict=False):
            name = "ranges6" if ":" in low else "ranges4"
            found.add((f"{lan.bridge}.{name}", f"{low}-{high}"))
            if ":" in low:
                found.add((f"{lan.bridge}.near", f"{_raw(low)}-{_raw(high)}"))
    return found


def _sets(lan: GuardedLan) -> Iterator[str]:
    members: dict[str, list[str]] = {f"{lan.bridge}.{name}": [] for name in _TYPES}
    nobody: Macs = frozenset()
    for offset in sorted(lan.held):
        for (name, element), _ in changes(lan, offset, nobody, lan.held[offset]):
            members[name].append(element)
    for name, element in sorted(elements_of(lan, lan.leased.ranges)):
        members[name].append(element)
    for name, kind in _TYPES.items():
        elements = members[f"{lan.bridge}.{name}"]
        yield f"\tset {lan.bridge}.{name} {{"
        yield f"\t\t{kind}"
        if elements:
            yield f"\t\telements = {{ {', '.join(elements)} }}"
        yield "\t}"


def _rules(lan: GuardedLan) -> Iterator[str]:
    yield "udp sport 68 udp dport 67 return"
    yield "udp sport 546 udp dport 547 return"
    drop = f"counter name {lan.bridge}.{REASON} drop"
    for which, targets in (("bound", "about"), ("ranges", "near")):
        four, six, near = f"@{lan.bridge}.{which}4", f"@{lan.bridge}.{which}6", f"@{lan.bridge}.{targets}"
        held4, held6, target = (f"!= @{lan.bridge}.{name}" for name in ("held4", "held6", "target"))
        yield f"ip saddr {four} ether saddr . ip saddr {held4} {drop}"
        yield f"arp saddr ip {four} ether saddr . arp saddr ip {held4} {drop}"
        yield f"arp saddr ip {four} arp saddr ether . arp saddr ip {held4} {drop}"
        yield f"ip6 saddr {six} ether saddr . ip6 saddr {held6} {drop}"
        yield f"icmpv6 type 136 @th,64,128 {near} ether saddr . @th,64,128 {target} {drop}"


def _jumps(lans: Iterable[GuardedLan]) -> list[str]:
    """Return the jumps to the LANs' chains. They name ports, because not every kernel tells nft the name of the
    bridge."""
    guarded = [lan for lan in lans if lan.ports and lan.leased.bound]
    names = [", ".join(f'"{port}"' for port in lan.ports) for lan in guarded]
    return [f"\t\tiifname {{ {ports} }} jump {lan.bridge}" for lan, ports in zip(guarded, names, strict=True)]


def _raw(address: str) -> str:
    return f"{int(ip_address(address)):#034x}"
