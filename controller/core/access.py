"""Access rules between members of a pool: which rule applies to a packet, and whether the packet passes. Pure.

Within a pool the first rule that matches decides; if none matches, the packet is accepted. Two endpoints that share
several pools have one tunnel between them, and the strictest of those pools decides: a packet that one pool drops is
dropped. Nothing passes between endpoints without a common pool. Rules keep no connection state: each packet is judged
by itself."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from controller.core.intent import Intent
from controller.core.policy.model import AccessRule, Action

WITH_PORTS = ("tcp", "udp")
ALL_PORTS = (0, 65535)
ANSWERS = (32768, 65535)
"""Destination ports of replies: the range from which operating systems choose the local port of a connection."""

OTHER = "other"
"""Any protocol that no rule names."""

Ports = tuple[int, int]


@dataclass(frozen=True)
class Flow:
    """Packets from one endpoint's LAN to another's. `protocol` is a name or a number as in the rules, or OTHER; `port`
    is the destination port, for TCP and UDP only."""

    source: str
    destination: str
    protocol: str = OTHER
    port: int | None = None


@dataclass(frozen=True)
class Ruling:
    """The decision of one pool. `rule` is None if none of the pool's rules matched."""

    vcp: str
    rule: AccessRule | None = None

    @property
    def drops(self) -> bool:
        """Whether this pool drops the packets."""
        return self.rule is not None and self.rule.action is Action.DROP


@dataclass(frozen=True)
class Verdict:
    """The decisions of all pools that two endpoints share, sorted by pool name; no rulings if they share none."""

    rulings: tuple[Ruling, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether the packets pass."""
        return bool(self.rulings) and self.dropped_by is None

    @property
    def dropped_by(self) -> Ruling | None:
        """The first pool, by name, that drops the packets; None if there is none, and also without a common pool."""
        return next((ruling for ruling in self.rulings if ruling.drops), None)

    @property
    def rate_kbps(self) -> int | None:
        """The lowest rate limit in kbit/s, or None."""
        found = [r.rule.rate_kbps for r in self.rulings if r.rule and r.rule.action is Action.RATE_LIMIT]
        return min((rate for rate in found if rate is not None), default=None)

    @property
    def dscp(self) -> int | None:
        """The DSCP mark of the first pool, by name, that marks."""
        return next((r.rule.dscp for r in self.rulings if r.rule and r.rule.action is Action.MARK), None)


def matches(rule: AccessRule, flow: Flow) -> bool:
    """Return whether the rule applies to the flow."""
    return between(rule, flow.source, flow.destination) and carries(rule, flow.protocol, flow.port)


def between(rule: AccessRule, source: str, destination: str) -> bool:
    """Return whether the rule applies to any traffic from source to destination."""
    return (not rule.sources or source in rule.sources) and (not rule.destinations or destination in rule.destinations)


def carries(rule: AccessRule, protocol: str, port: int | None) -> bool:
    """Return whether the rule applies to this protocol and port."""
    if rule.protocols and protocol not in rule.protocols:
        return False
    return not rule.ports or (port is not None and any(first <= port <= last for first, last in rule.ports))


def rules_of(intent: Intent, vcp: str) -> Sequence[AccessRule]:
    """Return the rules of a pool. The rules of a family apply in each of its pools."""
    return intent.policy.access.get(intent.vcps[vcp].family or vcp, ())


def judge(intent: Intent, flow: Flow) -> Verdict:
    """Return the decisions of all pools about a flow."""
    none: frozenset[str] = frozenset()
    shared = intent.pools_of.get(flow.source, none) & intent.pools_of.get(flow.destination, none)
    return Verdict(tuple(_ruling(vcp, rules_of(intent, vcp), flow) for vcp in sorted(shared)))


def _ruling(vcp: str, rules: Iterable[AccessRule], flow: Flow) -> Ruling:
    return Ruling(vcp, next((rule for rule in rules if matches(rule, flow)), None))


def flows(
    intent: Intent, source: str, destination: str, protocol: str | None = None, port: int | None = None
) -> Iterator[Flow]:
    """Yield one flow for each kind of traffic from one endpoint to another that the rules distinguish: of all traffic,
    of one protocol, or to one port."""
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
    """Yield the protocols and port ranges within which all these rules treat packets alike. Every packet is in exactly
    one class; OTHER stands for all protocols that no rule names."""
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
