"""Verification: which pairs of LANs are probed, from which side, what should come of it, and what results mean. Pure.

A pair that shares a pool must pass: the gateways find each other (ARP, neighbour discovery), an ICMP echo comes back,
and so does one as large as the LAN's MTU. If an access rule drops ICMP, they find each other and the echo stays away. A
pair that shares no pool must not even find each other."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_interface
from itertools import combinations, islice
from random import Random

from controller.core.access import flows, judge
from controller.core.intent import Endpoint, Intent
from controller.core.refusals import conflict, invalid, unknown
from controller.wire.findings import IpFamily
from controller.wire.probes import MOST_TARGETS, PER_SECOND, SMALLEST, ProbeRequest, ProbeResult, ProbeTarget

MOST_PAIRS = 20_000
"""Most pairs of one verification."""

FAMILIES: tuple[IpFamily, ...] = ("ipv4", "ipv6")


class Reach(StrEnum):
    """How far packets get. `passes`: to the other gateway and back. `resolves`: the gateways find each other, and no
    packet passes. `silent`: not even that."""

    PASSES = "passes"
    RESOLVES = "resolves"
    SILENT = "silent"


@dataclass(frozen=True, order=True)
class Pair:
    """Two LANs that are probed in one family, from the gateway of `near` to that of `far`, at `address`. `why` says
    what keeps packets from passing if they should not. `mtu` is the smaller one of the LANs."""

    near: str
    far: str
    family: IpFamily
    address: str
    expected: Reach
    why: str
    mtu: int

    @property
    def target(self) -> ProbeTarget:
        """The pair as the agent of `near` is asked to probe it."""
        mtu = None if self.expected is Reach.SILENT else max(self.mtu, SMALLEST)
        return ProbeTarget(endpoint=self.near, remote=self.far, address=self.address, mtu=mtu)


@dataclass(frozen=True)
class Selection:
    """The pairs to probe; `forbidden` is the number of all pairs of LANs that must not pass. `unasked` has the pairs
    that nobody can probe, with the reason."""

    pairs: tuple[Pair, ...]
    forbidden: int
    unasked: Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Judgement:
    """The result of a pair. `observed` is None if no result came. `differs` says how it is not as expected; empty if it
    is."""

    pair: Pair
    observed: Reach | None
    rtt_ms: float | None
    mtu: int | None
    differs: str


def lans_of(intent: Intent, name: str, field: str) -> list[Endpoint]:
    """Return the LAN of an endpoint, or all of a cloudlet. Raises Refused."""
    if name in intent.endpoints:
        return [intent.endpoints[name]]
    if name not in intent.cloudlets:
        raise unknown(field, "cloudlet or endpoint", name, [*intent.cloudlets, *intent.endpoints])
    if not (found := intent.endpoints_of.get(name, ())):
        raise conflict(f"{name} has no endpoint", field)
    return list(found)


def between(intent: Intent, one: str, other: str, unable: Mapping[str, str]) -> Selection:
    """Select all pairs of LANs of two cloudlets or endpoints. `unable` has the cloudlets whose agents cannot be asked,
    with the reason. Raises Refused."""
    found = [
        (a, b)
        for a in lans_of(intent, one, "a")
        for b in lans_of(intent, other, "b")
        if a.cloudlet != b.cloudlet and _in_force(intent, a) and _in_force(intent, b)
    ]
    if not found:
        raise conflict(f"{one} and {other} have no two LANs in force at different cloudlets")
    names = {(min(a.name, b.name), max(a.name, b.name)) for a, b in found}
    shared = [pair for pair in sorted(names) if intent.share(*pair)]
    apart = [pair for pair in sorted(names) if not intent.share(*pair)]
    return _select(intent, [*shared, *apart], unable, len(apart))


def everywhere(intent: Intent, sample: int, unable: Mapping[str, str], chance: Random) -> Selection:
    """Select every pair that shares a pool, and a sample of those that do not. Raises Refused if there are too many."""
    lans = sorted(name for name, endpoint in intent.endpoints.items() if _in_force(intent, endpoint))
    together = ((a, b) for a in lans for b in sorted(intent.remotes(a)) if a < b and _may(intent, a, b))
    shared = list(islice(together, MOST_PAIRS + 1))
    if len(shared) > MOST_PAIRS:
        raise invalid("a", f"more than {MOST_PAIRS} pairs share a pool, too many at once: name two cloudlets")
    of = Counter(intent.endpoints[name].cloudlet for name in lans)
    pairs = (len(lans) ** 2 - sum(count**2 for count in of.values())) // 2
    forbidden = pairs - len(shared)
    apart = _sample(intent, lans, min(sample, forbidden), chance)
    return _select(intent, [*shared, *apart], unable, forbidden)


def within(intent: Intent, pool: str, unable: Mapping[str, str]) -> Selection:
    """Select every pair of members of a pool. Raises Refused."""
    if pool not in intent.vcps:
        raise unknown("vcp", "VCP", pool, intent.vcps)
    members = sorted(intent.vcps[pool].members)
    shared = list(islice(((a, b) for a, b in combinations(members, 2) if _may(intent, a, b)), MOST_PAIRS + 1))
    if len(shared) > MOST_PAIRS:
        raise invalid("vcp", f"{pool} has more than {MOST_PAIRS} pairs, too many at once: name two cloudlets")
    if not shared:
        raise conflict(f"{pool} has no two members in force at different cloudlets", "vcp")
    return _select(intent, shared, unable, 0)


def _sample(intent: Intent, lans: Sequence[str], wanted: int, chance: Random) -> list[tuple[str, str]]:
    """Return that many pairs without a common pool, or fewer where most pairs share one."""
    found: set[tuple[str, str]] = set()
    for _ in range(50 * wanted):
        if len(found) == wanted:
            break
        a, b = sorted(chance.sample(lans, 2))
        if intent.endpoints[a].cloudlet != intent.endpoints[b].cloudlet and not intent.share(a, b):
            found.add((a, b))
    return sorted(found)


def _in_force(intent: Intent, endpoint: Endpoint) -> bool:
    return intent.has_pe(intent.cloudlets[endpoint.cloudlet]) and not intent.held(endpoint.name)


def _may(intent: Intent, a: str, b: str) -> bool:
    """Return whether a pair is one of two cloudlets, both in force."""
    one, other = intent.endpoints[a], intent.endpoints[b]
    return one.cloudlet != other.cloudlet and _in_force(intent, one) and _in_force(intent, other)


def _select(intent: Intent, names: Iterable[tuple[str, str]], unable: Mapping[str, str], forbidden: int) -> Selection:
    pairs: list[Pair] = []
    unasked: dict[tuple[str, str], str] = {}
    load: Counter[str] = Counter()
    for a, b in names:
        ends = sorted((a, b), key=lambda name: (load[intent.endpoints[name].cloudlet], name))
        able = [name for name in ends if intent.endpoints[name].cloudlet not in unable]
        if not able:
            reasons = {unable[intent.endpoints[name].cloudlet] for name in (a, b)}
            unasked[a, b] = "; ".join(sorted(reasons))
            continue
        near, far = able[0], b if able[0] == a else a
        cloudlet = intent.endpoints[near].cloudlet
        found = list(_pairs(intent, near, far))
        if load[cloudlet] + len(found) > MOST_TARGETS:
            unasked[a, b] = f"{cloudlet} already has {load[cloudlet]} probes to send"
            continue
        load[cloudlet] += len(found)
        pairs += found
    return Selection(tuple(sorted(pairs)), forbidden, unasked)


def _pairs(intent: Intent, near: str, far: str) -> Iterator[Pair]:
    """Yield a pair in each family that both LANs have."""
    one, other = intent.endpoints[near], intent.endpoints[far]
    expected, why = _expected(intent, near, far)
    gateways = ((one.gateway, other.gateway), (one.gateway6, other.gateway6))
    for family, (own, address) in zip(FAMILIES, gateways, strict=True):
        if own is not None and address is not None:
            found = str(ip_interface(address).ip)
            yield Pair(near, far, family, found, expected, why, min(one.mtu, other.mtu))


def _expected(intent: Intent, near: str, far: str) -> tuple[Reach, str]:
    if not intent.share(near, far):
        return Reach.SILENT, "they share no pool"
    if far not in intent.remotes(near) or near not in intent.remotes(far):
        return Reach.SILENT, "a credential was revoked"
    for source, destination in ((near, far), (far, near)):
        for flow in flows(intent, source, destination, "icmp"):
            by = judge(intent, flow).dropped_by
            if by is not None and by.rule is not None:
                return Reach.RESOLVES, f"rule '{by.rule.name}' of {by.vcp} drops ICMP from {source} to {destination}"
    return Reach.PASSES, ""


def requests(intent: Intent, pairs: Iterable[Pair], number: int) -> list[ProbeRequest]:
    """Return what each agent is asked."""
    targets: dict[str, list[ProbeTarget]] = {}
    for pair in pairs:
        targets.setdefault(intent.endpoints[pair.near].cloudlet, []).append(pair.target)
    return [ProbeRequest(cloudlet=name, number=number, targets=found) for name, found in sorted(targets.items())]


def patience(asked: Iterable[ProbeRequest]) -> float:
    """Return the seconds in which all results should have come: every target of the busiest LAN may need a dozen
    questions, and silence takes seconds more."""
    lans = Counter((target.endpoint, ":" in target.address) for one in asked for target in one.targets)
    return min(300.0, 10.0 + 12 * max(lans.values(), default=0) / PER_SECOND)


def judged(pair: Pair, result: ProbeResult | None) -> Judgement:
    """Return what a result means; None: none came."""
    if result is None or result.problem:
        return Judgement(pair, None, None, None, "")
    observed = _observed(result)
    rtt = result.echo_ms if result.echo_ms is not None else result.resolved_ms
    return Judgement(pair, observed, rtt, result.mtu, _differs(pair, observed, result))


def _observed(result: ProbeResult) -> Reach:
    if result.resolved_ms is None:
        return Reach.SILENT
    return Reach.RESOLVES if result.echo_ms is None else Reach.PASSES


def _differs(pair: Pair, observed: Reach, result: ProbeResult) -> str:
    question = "ARP" if pair.family == "ipv4" else "neighbour discovery"
    if observed is not pair.expected:
        match pair.expected, observed:
            case Reach.SILENT, _:
                return f"the gateway of {pair.far} answers, and must not: {pair.why}"
            case Reach.RESOLVES, Reach.PASSES:
                return f"an echo passes, and must not: {pair.why}"
            case _, Reach.SILENT:
                return f"the gateway of {pair.far} answers no {question}: nothing passes"
        return f"the gateway of {pair.far} answers {question}, and no ICMP echo"
    if pair.expected is Reach.PASSES and result.tried is not None and (result.mtu or 0) < result.tried:
        most = f"the largest that passes has {result.mtu}" if result.mtu is not None else "none of 576 passes"
        return f"packets of {result.tried} bytes do not pass; {most}"
    return ""
