"""Turns specifications into nft text. Pure.

Bridge prerouting sees every frame that comes out of a tunnel, whether it is for a device of the LAN or for the gateway,
and whichever kind of PE made the tunnel. The rules come after the fence's and before the sightings'. Specifications
about the same two prefixes share a chain, because most packets are about other prefixes.

The table and its counters stay: one transaction replaces the rules. Counters and limits have the specification's name,
so those that are still wanted keep their values.

Some packets have no ports, or hide their protocol. Fragments after the first have no ports, so no specification with
ports matches them (RFC 8955, section 4.2.2). They go to a chain without such specifications, because not every kernel
keeps nft from taking other octets for ports. If the first fragment, which has ports, is dropped, the others are
useless. Other packets may hide a protocol or ports that they should have, as with an IPv6 header chain that continues
in the next fragment (RFC 7112). They are dropped if any specification between the two prefixes filters by these. ARP is
not IP and always passes. So does neighbour discovery (hop limit 255, so from this link).
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
"""The suffix of the names of counters for packets above a limit."""

UNREADABLE = "unreadable"
"""The name of the counter for packets that hide their protocol or ports."""

BURST = 65536
"""Bytes that a limit lets through at once beyond a second's worth, because the kernel may put so many into one packet
(GRO)."""

_PORTS = (TO_PORT, FROM_PORT)
_FAMILY = {4: "ip", 6: "ip6"}
_LATER = {4: "ip frag-off & 0x1fff != 0", 6: "frag frag-off != 0"}
_DISCOVERY = "ip6 hoplimit 255 icmpv6 type 133-137 accept"


@dataclass(frozen=True)
class Filtering:
    """One LAN: its bridge, its tunnel ports (a name, or a prefix ending in `*`), and its specifications."""

    bridge: str
    tunnels: str
    specifications: tuple[Specification, ...]


@dataclass(frozen=True)
class Objects:
    """The names of chains, counters and limits of the table."""

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
    """Return the name of a specification's counter at a LAN, which its limit has too."""
    return f"{bridge}.{specification.name}"


def ruleset(lans: Iterable[Filtering]) -> str:
    """Return the text for `nft -f` that sets the table's rules. Equal sets of LANs give equal text, and the order of
    the specifications makes no difference. If there is nothing to filter, there is no table."""
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
    """Return the objects that the text of `ruleset` makes."""
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
    """Return text to go before that of `ruleset`. It removes these unused objects, whether or not they still exist."""
    if not gone:
        return ""
    there = [f"\tchain {name} {{ }}" for name in sorted(gone.chains)]
    there += [f"\tcounter {name} {{ }}" for name in sorted(gone.counters)]
    there += [f"\tlimit {name} {{ rate over 1 bytes/second }}" for name in sorted(gone.limits)]
    kinds = (("chain", gone.chains), ("counter", gone.counters), ("limit", gone.limits))
    away = [f"delete {kind} bridge {TABLE} {name}" for kind, names in kinds for name in sorted(names)]
    return "\n".join([f"table bridge {TABLE} {{", *there, "}", f"flush table bridge {TABLE}", *away]) + "\n"


def _groups(lan: Filtering) -> list[tuple[tuple[int, Network | None, Network | None], list[Specification]]]:
    """Return the specifications in their order. Those that follow each other and are about the same prefixes form a
    group."""

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
    """Return the name of a group's chain and, if there are ports, that of the chain for fragments after the first."""
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
    """Return the words of a rule, or None if nothing can match. Ports are only those of TCP and UDP, whatever the
    protocols."""
    words = []
    protocols = numbers[PROTOCOL]
    if any(numbers[kind] is not None for kind in _PORTS):  # only TCP and UDP have them
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
    """Return the rules at the end of a chain: for packets that no specification matched, but might have matched if they
    could be read. `ports` says that the packets ought to have ports."""
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
