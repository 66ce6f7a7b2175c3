"""From specifications to nft text. Pure.

Bridge prerouting sees every frame that comes out of a tunnel, whether it is for a device of the LAN or for the gateway,
and whichever kind of PE made the tunnel. The rules come after the fence's and before the sightings'. Specifications
about the same two prefixes share a chain, as most packets are about others.

The table stays, and what it counts with: rules are flushed and written anew in one transaction, counters and limits
have the specification's name, so one that is still wanted goes on where it was.

What has no ports, or hides its protocol, is decided here: fragments after the first have none, and no specification
with ports matches them (RFC 8955, section 4.2.2); they go to a chain without these, as not every kernel keeps nft from
taking other octets for ports. Without the first, which has some, they come to nothing. But a packet
whose protocol or ports cannot be read where there should be some is dropped if anything is filtered between the two
prefixes by that: an IPv6 header chain that goes on in the next fragment, say (RFC 7112). ARP is no IP and never looked
at; neighbour discovery (hop limit 255, so from this link) is let through.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from agents.access.specification import (
    DESTINATION,
    FROM_PORT,
    HIGHEST,
    PROTOCOL,
    SOURCE,
    TO_PORT,
    Network,
    Ranges,
    Specification,
    ordered,
)

TABLE = "weft-access"
OVER = ".over"
"""The end of the name of what counts packets above a limit."""

UNREADABLE = "unreadable"
"""What counts packets that hide their protocol or ports."""

BURST = 65536
"""Bytes that a limit lets through at once beyond a second's worth: the kernel may put so many into one packet (GRO)."""

_PORTS = (TO_PORT, FROM_PORT)
_FAMILY = {4: "ip", 6: "ip6"}
_LATER = {4: "ip frag-off & 0x1fff != 0", 6: "frag frag-off != 0"}
_DISCOVERY = "ip6 hoplimit 255 icmpv6 type 133-137 accept"


@dataclass(frozen=True)
class Filtering:
    """One LAN: its bridge, its tunnel ports (a name, or a prefix ending in `*`), and what it filters."""

    bridge: str
    tunnels: str
    specifications: tuple[Specification, ...]


@dataclass(frozen=True)
class Objects:
    """Names of chains, counters and limits of the table."""

    chains: frozenset[str] = frozenset()
    counters: frozenset[str] = frozenset()
    limits: frozenset[str] = frozenset()

    def __or__(self, other: "Objects") -> "Objects":
        return Objects(self.chains | other.chains, self.counters | other.counters, self.limits | other.limits)

    def __sub__(self, other: "Objects") -> "Objects":
        return Objects(self.chains - other.chains, self.counters - other.counters, self.limits - other.limits)

    def __bool__(self) -> bool:
        return bool(self.chains or self.counters or self.limits)


def counter(bridge: str, specification: Specification) -> str:
    """The name of what a specification counts with at a LAN, and of its limit."""
    return f"{bridge}.{specification.name}"


def ruleset(lans: Iterable[Filtering]) -> str:
    """The text for `nft -f` that makes the table's rules these. Equal sets of LANs give equal text, and the order in
    which specifications are given makes no difference. Nothing to filter: no table."""
    wanted = [lan for lan in sorted(lans, key=lambda lan: lan.bridge) if lan.specifications]
    if not wanted:
        return f"table bridge {TABLE}\ndelete table bridge {TABLE}\n"
    lines = [f"table bridge {TABLE}", f"flush table bridge {TABLE}", f"table bridge {TABLE} {{"]
    for lan in wanted:
        lines += _lan(lan)
    jumps = [f'iifname "{lan.tunnels}" jump {lan.bridge}' for lan in wanted]
    lines += _chain("prerouting", ["type filter hook prerouting priority filter + 5; policy accept;", *jumps])
    return "\n".join([*lines, "}"]) + "\n"


def objects(lans: Iterable[Filtering]) -> Objects:
    """What the text of `ruleset` makes."""
    wanted = [lan for lan in lans if lan.specifications]
    if not wanted:
        return Objects()
    chains, counters, limits = {"prerouting"}, set[str](), set[str]()
    for lan in wanted:
        chains |= {lan.bridge, *(name for i, (_, found) in enumerate(_groups(lan)) for name in _names(lan, i, found))}
        counters.add(f"{lan.bridge}.{UNREADABLE}")
        for specification in ordered(lan.specifications):
            name = counter(lan.bridge, specification)
            counters.add(name)
            if specification.rate:
                counters.add(name + OVER)
                limits.add(name)
    return Objects(frozenset(chains), frozenset(counters), frozenset(limits))


def sweep(gone: Objects) -> str:
    """Text to go ahead of `ruleset`'s: takes out what that does not use any more, whether or not it is there still."""
    if not gone:
        return ""
    there = [f"\tchain {name} {{ }}" for name in sorted(gone.chains)]
    there += [f"\tcounter {name} {{ }}" for name in sorted(gone.counters)]
    there += [f"\tlimit {name} {{ rate over 1 bytes/second }}" for name in sorted(gone.limits)]
    kinds = (("chain", gone.chains), ("counter", gone.counters), ("limit", gone.limits))
    away = [f"delete {kind} bridge {TABLE} {name}" for kind, names in kinds for name in sorted(names)]
    return "\n".join([f"table bridge {TABLE} {{", *there, "}", f"flush table bridge {TABLE}", *away]) + "\n"


def _groups(lan: Filtering) -> list[tuple[tuple[int, Network | None, Network | None], list[Specification]]]:
    """Specifications in their order, those together that follow each other and are about the same prefixes."""

    def key(one: Specification) -> tuple[int, Network | None, Network | None]:
        return one.version, one.prefix(DESTINATION), one.prefix(SOURCE)

    return [(prefixes, list(found)) for prefixes, found in groupby(ordered(lan.specifications), key)]


def _lan(lan: Filtering) -> list[str]:
    lines = [f"\tcounter {lan.bridge}.{UNREADABLE} {{ }}"]
    jumps = [_DISCOVERY]
    chains = []
    for i, ((version, destination, source), found) in enumerate(_groups(lan)):
        for one in found:
            name = counter(lan.bridge, one)
            lines.append(f"\tcounter {name} {{ }}")
            if one.rate:
                lines.append(f"\tcounter {name}{OVER} {{ }}")
                rate = f"{max(1, round(one.rate))} bytes/second"
                lines.append(f"\tlimit {name} {{ rate over {rate} burst {BURST} bytes }}")
        family = _FAMILY[version]
        ends = (("daddr", destination), ("saddr", source))
        words = [f"{family} {which} {network}" for which, network in ends if network and network.prefixlen]
        about = " ".join(words) if words else f"meta protocol {family}"
        jumps.append(f"{about} jump {lan.bridge}.{i}")
        name, *later = _names(lan, i, found)
        for fragments in later:
            without = [one for one in found if not _with_ports(one)]
            rules = [rule for one in without for rule in _rules(lan.bridge, one)]
            chains += _chain(fragments, rules + _unreadable(lan.bridge, found, ports=False))
        turned = [f"{_LATER[version]} goto {fragments}" for fragments in later]
        rules = [rule for one in found for rule in _rules(lan.bridge, one)]
        chains += _chain(name, turned + rules + _unreadable(lan.bridge, found, ports=bool(later)))
    return [*lines, *chains, *_chain(lan.bridge, jumps)]


def _names(lan: Filtering, number: int, found: Iterable[Specification]) -> list[str]:
    """The chain of a group, and where there are ports that of fragments after the first."""
    name = f"{lan.bridge}.{number}"
    return [name, f"{name}.later"] if any(map(_with_ports, found)) else [name]


def _with_ports(one: Specification) -> bool:
    return any(one.numbers(kind) is not None for kind in _PORTS)


def _rules(bridge: str, one: Specification) -> list[str]:
    matches = _matches({kind: one.numbers(kind) for kind in HIGHEST})
    if matches is None:
        return []
    name = counter(bridge, one)
    begin = [*matches, f"counter name {name}"]
    if one.rate == 0:
        return [" ".join([*begin, "drop"])]
    rules = []
    if one.rate is not None:
        rules.append(" ".join([*matches, f"limit name {name} counter name {name} counter name {name}{OVER} drop"]))
    mark = [] if one.dscp is None else [f"{_FAMILY[one.version]} dscp set {one.dscp}"]
    return [*rules, " ".join([*begin, *mark, "accept"])]


def _matches(numbers: Mapping[int, Ranges | None]) -> list[str] | None:
    """The words of a rule; None if nothing can match. Ports are those of TCP and UDP, whatever else is said."""
    words = []
    protocols = numbers[PROTOCOL]
    if any(numbers[kind] is not None for kind in _PORTS):  # of TCP and UDP, whatever else is said
        named = protocols if protocols is not None else ((0, HIGHEST[PROTOCOL]),)
        protocols = tuple((p, p) for p in (6, 17) if any(first <= p <= last for first, last in named))
    for word, ranges in (
        ("meta l4proto", protocols),
        ("th dport", numbers[TO_PORT]),
        ("th sport", numbers[FROM_PORT]),
    ):
        if ranges is None:
            continue
        if not ranges:
            return None
        words.append(f"{word} {_set(ranges)}")
    return words


def _unreadable(bridge: str, found: Sequence[Specification], *, ports: bool) -> list[str]:
    """The end of a chain: what no specification matched, and which might have been told otherwise. `ports`: there ought
    to be some."""
    drop = f"counter name {bridge}.{UNREADABLE} drop"
    rules = []
    if ports:
        rules = [f"meta l4proto {{ 6, 17 }} {rest}" for rest in ("th dport 0-65535 return", drop)]
    if any(one.numbers(kind) is not None for one in found for kind in HIGHEST):
        rules += ["meta l4proto 0-255 return", drop]
    return rules


def _set(ranges: Ranges) -> str:
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return texts[0] if len(texts) == 1 else f"{{ {', '.join(texts)} }}"


def _chain(name: str, rules: Iterable[str]) -> list[str]:
    return [f"\tchain {name} {{", *(f"\t\t{rule}" for rule in rules), "\t}"]
