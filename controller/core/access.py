"""Access rules between members of a pool: which decides about a packet, and what becomes of it. Pure.

Within a pool the first rule that matches decides; if none does, the packet is accepted. Two endpoints that share
several pools have one tunnel between them, and the strictest of those pools decides: what one of them drops stays
dropped. Without a pool in common nothing passes. Rules know no connections, each packet is judged by itself.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from controller.core.intent import Intent
from controller.core.policy.model import AccessRule, Action

WITH_PORTS = ("tcp", "udp")
ALL_PORTS = (0, 65535)
ANSWERS = (32768, 65535)
"""Ports that answers go to: those that operating systems choose from for the near end of a connection."""

OTHER = "other"
"""A protocol that no rule names."""

Ports = tuple[int, int]


@dataclass(frozen=True)
class Flow:
    """Packets from one endpoint's LAN to another's. `protocol` is a name or a number as the rules have it, or OTHER;
    `port` the destination's, for TCP and UDP only."""

    source: str
    destination: str
    protocol: str = OTHER
    port: int | None = None


@dataclass(frozen=True)
class Ruling:
    """One pool's word. `rule` None: none of its rules matched."""

    vcp: str
    rule: AccessRule | None = None

    @property
    def drops(self) -> bool:
        """Whether this pool lets nothing pass."""
        return self.rule is not None and self.rule.action is Action.DROP


@dataclass(frozen=True)
class Verdict:
    """What the pools say that two endpoints share, by name; no rulings: they share none."""

    rulings: tuple[Ruling, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether packets get through."""
        return bool(self.rulings) and self.dropped_by is None

    @property
    def dropped_by(self) -> Ruling | None:
        """The first pool, by name, that lets nothing pass; None also without any pool."""
        return next((ruling for ruling in self.rulings if ruling.drops), None)

    @property
    def rate_kbps(self) -> int | None:
        """The lowest limit, if there is one."""
        found = [r.rule.rate_kbps for r in self.rulings if r.rule and r.rule.action is Action.RATE_LIMIT]
        return min((rate for rate in found if rate is not None), default=None)

    @property
    def dscp(self) -> int | None:
        """The mark of the first pool that marks, by name."""
        return next((r.rule.dscp for r in self.rulings if r.rule and r.rule.action is Action.MARK), None)


def matches(rule: AccessRule, flow: Flow) -> bool:
    """Whether the rule is about the flow."""
    return between(rule, flow.source, flow.destination) and carries(rule, flow.protocol, flow.port)


def between(rule: AccessRule, source: str, destination: str) -> bool:
    """Whether the rule is about anything between the two, this way."""
    return (not rule.sources or source in rule.sources) and (not rule.destinations or destination in rule.destinations)


def carries(rule: AccessRule, protocol: str, port: int | None) -> bool:
    """Whether the rule is about this protocol and port."""
    if rule.protocols and protocol not in rule.protocols:
        return False
    return not rule.ports or (port is not None and any(first <= port <= last for first, last in rule.ports))


def rules_of(intent: Intent, vcp: str) -> Sequence[AccessRule]:
    """A pool's rules; those of a family hold in each of its pools."""
    return intent.policy.access.get(intent.vcps[vcp].family or vcp, ())


def judge(intent: Intent, flow: Flow) -> Verdict:
    """What becomes of a flow."""
    none: frozenset[str] = frozenset()
    shared = intent.pools_of.get(flow.source, none) & intent.pools_of.get(flow.destination, none)
    return Verdict(tuple(_ruling(vcp, rules_of(intent, vcp), flow) for vcp in sorted(shared)))


def _ruling(vcp: str, rules: Iterable[AccessRule], flow: Flow) -> Ruling:
    return Ruling(vcp, next((rule for rule in rules if matches(rule, flow)), None))


def flows(
    intent: Intent, source: str, destination: str, protocol: str | None = None, port: int | None = None
) -> Iterator[Flow]:
    """One flow for each kind of traffic between two endpoints, one way, that the rules tell from others: all of it, or
    that of one protocol, or to one port."""
    none: frozenset[str] = frozenset()
    shared = intent.pools_of.get(source, none) & intent.pools_of.get(destination, none)
    kinds = list(classes(rule for vcp in shared for rule in rules_of(intent, vcp)))
    kinds += [(each, ANSWERS) for each in WITH_PORTS]
    named = {each for each, _ in kinds}
    for each, ports in kinds:
        if protocol is not None and each != (protocol if protocol in named else OTHER):
            continue
        if port is None or ports is None:
            yield Flow(source, destination, each, None if ports is None else ports[0])
        elif ports[0] <= port <= ports[1]:
            yield Flow(source, destination, each, port)


def classes(rules: Iterable[AccessRule]) -> Iterator[tuple[str, Ports | None]]:
    """Protocols and ranges of ports that all these rules treat alike: between two of them no rule tells a difference
    that is not there. Every packet is in exactly one; OTHER stands for all protocols that no rule names."""
    rules = tuple(rules)
    begins = sorted(
        {0}
        | {first for rule in rules for first, _ in rule.ports}
        | {last + 1 for rule in rules for _, last in rule.ports if last < ALL_PORTS[1]}
    )
    ends = [begin - 1 for begin in begins[1:]] + [ALL_PORTS[1]]
    named = {protocol for rule in rules for protocol in rule.protocols} | set(WITH_PORTS)
    for protocol in sorted(named):
        if protocol in WITH_PORTS:
            yield from ((protocol, ports) for ports in zip(begins, ends, strict=True))
        else:
            yield protocol, None
    yield OTHER, None
