"""The filters of a destination's PE that enforce the access rules, compiled to Flowspec. Pure.

An operator's rules are tried in their order. Flowspec has its own order (RFC 8955, section 5.1), and a router that
knows only some of the routes would decide differently again. So compiled specifications do not overlap: every packet
matches one at most, whatever the order, and accepted packets need none. A rate limit applies to each specification,
that is to each pair of endpoints at least."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

from controller.core.access import ALL_PORTS, OTHER, Ports, Ruling, Verdict, between, carries, classes, rules_of
from controller.core.flowspec import FlowSpec, Ranges, actions, number
from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.core.persistent_map import changed
from controller.core.policy.model import AccessRule
from controller.core.policy.sections.access import joined
from controller.wire import access as wire

MOST_RANGES = 32
"""The most ranges of ports or of protocols in one specification: its NLRI stays below 240 octets also in IPv6. A longer
one has a length of two octets (RFC 8955, section 4.1), which GoBGP 4.8.0 reads as another number."""

Applied = tuple[tuple[str, tuple[AccessRule, ...]], ...]
"""Pools, by name, with those of their rules that apply to two endpoints."""


class TrafficBlock(NamedTuple):
    """Traffic that is treated alike. Protocol numbers are those of one IP version."""

    version: int
    protocols: Ranges
    ports: Ranges
    actions: tuple[str, ...]


def filters(intent: Intent, of: Collection[str] | None = None) -> Mapping[str, tuple[FlowSpec, ...]]:
    """Return endpoint → the filters, sorted, that its PE applies to packets out of its tunnels. Only endpoints with
    any, and only those in `of`. The cost is proportional to the pairs of members of pools that have rules."""
    blocks: dict[tuple[tuple[int, ...], ...], tuple[TrafficBlock, ...]] = {}
    specs: dict[str, list[FlowSpec]] = {}
    for (source, destination), pools in _pairs(intent, intent.endpoints if of is None else of).items():
        same = tuple(tuple(map(id, rules)) for _, rules in pools)
        if same not in blocks:
            blocks[same] = tuple(_blocks(pools))
        found = _specs(intent.endpoints[source], intent.endpoints[destination], blocks[same])
        specs.setdefault(destination, []).extend(found)
    return {endpoint: tuple(sorted(found)) for endpoint, found in sorted(specs.items()) if found}


@dataclass(frozen=True)
class FilterDifference:
    """The specifications that an endpoint's PE stops filtering (`gone`), and those that it begins to filter (`new`)."""

    endpoint: str
    gone: tuple[FlowSpec, ...]
    new: tuple[FlowSpec, ...]


def differences(before: Intent, after: Intent) -> Iterator[FilterDifference]:
    """Yield the differences by endpoint. The cost is proportional to the pools with rules whose members or rules
    changed."""
    of: set[str] = set()
    for name in before.vcps.keys() | after.vcps.keys():
        was, now = _state(before, name), _state(after, name)
        if was != now:
            of |= was[1] | now[1]
    old, new = filters(before, of & before.endpoints.keys()), filters(after, of & after.endpoints.keys())
    for endpoint in sorted(old.keys() | new.keys()):
        had, has = old.get(endpoint, ()), new.get(endpoint, ())
        if had != has:
            kept = set(had) & set(has)
            yield FilterDifference(
                endpoint,
                tuple(spec for spec in had if spec not in kept),
                tuple(spec for spec in has if spec not in kept),
            )


def _state(intent: Intent, vcp: str) -> tuple[tuple[AccessRule, ...], frozenset[str]]:
    """Return a pool's rules and members; nothing for a pool without rules, which filters nothing."""
    if vcp not in intent.vcps or not (rules := rules_of(intent, vcp)):
        return (), frozenset()
    return tuple(rules), intent.vcps[vcp].members


def concerned(before: Intent, after: Intent) -> frozenset[str]:
    """Return the cloudlets whose filters may differ. The cost is proportional to the pools that changed, or to all of
    them if the rules did."""
    names: set[str] = set()
    same = before.policy.access == after.policy.access
    for vcp in changed(before.vcps, after.vcps) if same else before.vcps.keys() | after.vcps.keys():
        was, now = _state(before, vcp), _state(after, vcp)
        if was != now:
            names |= was[1] | now[1]
    found = (after.endpoints.get(name) or before.endpoints.get(name) for name in names)
    return frozenset(endpoint.cloudlet for endpoint in found if endpoint is not None)


def pools(intent: Intent, of: Collection[str]) -> tuple[tuple[str, tuple[AccessRule, ...], frozenset[str]], ...]:
    """Return the pools of these endpoints that have rules: all that determines the filters of the endpoints."""
    if not intent.policy.access:
        return ()
    names = {vcp for endpoint in of for vcp in intent.pools_of.get(endpoint, ())}
    states = ((vcp, *_state(intent, vcp)) for vcp in sorted(names))
    return tuple(state for state in states if state[1])


def access(intent: Intent, cloudlet: Cloudlet) -> wire.Access:
    """Return a cloudlet's filters, as its agent receives them. A cloudlet that may not speak yet has none."""
    names = [e.name for e in intent.endpoints_of.get(cloudlet.name, ())] if cloudlet.speaks else []
    found = filters(intent, names)
    lans = [wire.Filtered(endpoint=name, filters=list(map(told, found[name]))) for name in sorted(found)]
    return wire.Access(version=cloudlet.version, lans=lans)


def told(spec: FlowSpec) -> wire.Filter:
    """Return a specification, as an agent receives it."""
    family: wire.FlowFamily = "ipv6-flowspec" if ":" in spec.destination else "ipv4-flowspec"
    return wire.Filter(family=family, nlri=spec.nlri().hex(), actions=list(spec.actions))


def _pairs(intent: Intent, destinations: Collection[str]) -> Mapping[tuple[str, str], Applied]:
    pairs: dict[tuple[str, str], Applied] = {}
    for vcp in sorted({vcp for name in destinations for vcp in intent.pools_of.get(name, ())}):
        if not (rules := rules_of(intent, vcp)):
            continue
        members = intent.vcps[vcp].members
        for destination in members.intersection(destinations):
            for source in members - {destination}:
                if found := tuple(rule for rule in rules if between(rule, source, destination)):
                    pairs[source, destination] = (*pairs.get((source, destination), ()), (vcp, found))
    return pairs


def _blocks(pools: Applied) -> Iterator[TrafficBlock]:
    """Yield every protocol and port between two endpoints that is not simply accepted, once."""
    fates: dict[str, dict[tuple[str, ...], list[Ports]]] = {}
    for protocol, ports in classes(rule for _, rules in pools for rule in rules):
        port = None if ports is None else ports[0]
        found = (Ruling(vcp, next((r for r in rules if carries(r, protocol, port)), None)) for vcp, rules in pools)
        fate = actions(Verdict(tuple(found)))
        fates.setdefault(protocol, {}).setdefault(fate, []).append(ports or ALL_PORTS)
    alike: dict[tuple[tuple[str, ...], Ranges], list[str]] = {}
    for protocol, by_fate in fates.items():
        for fate, ranges in by_fate.items():
            alike.setdefault((fate, joined(tuple(ranges))), []).append(protocol)
    for (fate, together), protocols in alike.items():
        if fate:
            others = sorted(fates.keys() - {OTHER} - set(protocols))
            chosen = [OTHER, *others] if OTHER in protocols else protocols
            kept = () if together == (ALL_PORTS,) else together
            for version in (4, 6):
                for numbers, some in product(_chunks(_numbers(chosen, version)), _chunks(kept)):
                    yield TrafficBlock(version, numbers, some, fate)


def _chunks(ranges: Ranges) -> list[Ranges]:
    return [ranges[i : i + MOST_RANGES] for i in range(0, len(ranges), MOST_RANGES)] or [()]


def _specs(source: Endpoint, destination: Endpoint, blocks: Iterable[TrafficBlock]) -> Iterator[FlowSpec]:
    for version, protocols, ports, fate in blocks:
        of, to = (source.prefix, destination.prefix) if version == 4 else (source.prefix6, destination.prefix6)
        if of is not None and to is not None:
            yield FlowSpec(to, of, protocols, ports, fate)


def _numbers(protocols: Sequence[str], version: int) -> Ranges:
    """Return ranges of protocol numbers; empty means all. With OTHER in front: all except those after it."""
    if protocols[0] != OTHER:
        return joined(tuple((number(name, version), number(name, version)) for name in protocols))
    edges = [-1, *sorted(number(name, version) for name in protocols[1:]), 256]
    left = tuple((a + 1, b - 1) for a, b in pairwise(edges) if a + 1 <= b - 1)
    return () if left == ((0, 255),) else left
