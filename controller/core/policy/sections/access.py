"""`access`: rules between members, by pool. The first that matches decides."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from controller.core.policy.model import AccessRule, Action
from controller.core.policy.policy import Policy
from controller.core.words import closest
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import DocumentError

Ranges = tuple[tuple[int, int], ...]

WITH_PORTS = frozenset({"tcp", "udp"})
"""RFC 8955, section 4.2.2.4: ports are those of TCP and UDP."""

_NAMES = {6: "tcp", 17: "udp", 1: "icmp", 58: "icmp", 132: "sctp", 47: "gre", 50: "esp", 51: "ah"}

_NEEDS = {Action.RATE_LIMIT: "rate_kbps", Action.MARK: "dscp"}


def read(data: Mapping[str, Any]) -> Mapping[str, tuple[AccessRule, ...]]:
    """Return the section; `data` is valid by the schema."""
    return {vcp: tuple(_rule(rule) for rule in rules) for vcp, rules in data.items()}


def _rule(data: Mapping[str, Any]) -> AccessRule:
    return AccessRule(
        name=data["name"],
        action=Action(data["action"]),
        sources=frozenset(data.get("from", ())),
        destinations=frozenset(data.get("to", ())),
        protocols=tuple(protocol(each) for each in data.get("protocols", ())),
        ports=tuple(_ports(each) for each in data.get("ports", ())),
        rate_kbps=int(data["rate_kbps"]) if "rate_kbps" in data else None,
        dscp=int(data["dscp"]) if "dscp" in data else None,
    )


def protocol(value: str | int | float) -> str:
    """Return a protocol's name, or its number as text if it has no name."""
    return value if isinstance(value, str) else _NAMES.get(int(value), str(int(value)))


def _ports(value: str | int | float) -> tuple[int, int]:
    if isinstance(value, str):
        first, _, last = value.partition("-")
        return int(first), int(last)
    return int(value), int(value)


def errors(policy: Policy) -> Iterator[DocumentError]:
    """Yield errors about pools that do not exist, endpoints that are not in them, and contradictions within a rule."""
    for vcp, rules in policy.rules.access.items():
        here: Path = ("access", vcp)
        if vcp not in policy.rules.vcps:
            hint, suggestion = closest(vcp, policy.rules.vcps)
            yield policy.error(here, f"this policy has no VCP '{vcp}'{hint}", suggestion)
        names: set[str] = set()
        for i, rule in enumerate(rules):
            at = (*here, i)
            if rule.name in names:
                yield policy.error((*at, "name"), f"{vcp} has a rule '{rule.name}' already")
            names.add(rule.name)
            yield from _ends(policy, at, vcp)
            yield from _action(policy, at, rule)
            yield from _port_errors(policy, at, rule)


def _ends(policy: Policy, at: Path, vcp: str) -> Iterator[DocumentError]:
    pool = policy.rules.vcps.get(vcp)
    if pool is None or pool.automatic or pool.select is not None:
        return
    for key in ("from", "to"):
        for i, endpoint in enumerate(policy.at(at).get(key, ())):
            if endpoint not in pool.members:
                hint, suggestion = closest(endpoint, pool.members)
                yield policy.error((*at, key, i), f"'{endpoint}' is not a member of VCP '{vcp}'{hint}", suggestion)


def _action(policy: Policy, at: Path, rule: AccessRule) -> Iterator[DocumentError]:
    for action, key in _NEEDS.items():
        value = getattr(rule, key)
        if rule.action is action and value is None:
            yield policy.error((*at, "action"), f"the action {action} needs the key '{key}'")
        if rule.action is not action and value is not None:
            yield policy.error((*at, key), f"{key} means something with 'action: {action}' only")


def _port_errors(policy: Policy, at: Path, rule: AccessRule) -> Iterator[DocumentError]:
    for i, (first, last) in enumerate(rule.ports):
        if first > last:
            yield policy.error(
                (*at, "ports", i), f"the range ends before it begins: {first} is above {last}", f"{last}-{first}"
            )
        elif last > 65535:
            yield policy.error((*at, "ports", i), f"{last} is not a port: the last is 65535")
    if rule.ports and (without := [name for name in rule.protocols if name not in WITH_PORTS]):
        yield policy.error((*at, "ports"), f"{' and '.join(without)} has no ports: TCP and UDP have")


def warnings(policy: Policy) -> Iterator[DocumentError]:
    """Yield warnings about rules that never match."""
    for vcp, rules in policy.rules.access.items():
        for i, rule in enumerate(rules):
            at = ("access", vcp, i)
            if len(rule.sources) == 1 and rule.sources == rule.destinations:
                yield policy.error(at, f"rule '{rule.name}' never matches: nothing goes from an endpoint to itself")
                continue
            earlier = next((each for each in rules[:i] if covers(each, rule)), None)
            if earlier is not None:
                yield policy.error(at, f"rule '{rule.name}' never matches: '{earlier.name}' above it takes it all")


def covers(one: AccessRule, other: AccessRule) -> bool:
    """Return whether `one` matches all that `other` matches."""
    return (
        (not one.sources or (bool(other.sources) and other.sources <= one.sources))
        and (not one.destinations or (bool(other.destinations) and other.destinations <= one.destinations))
        and _protocols_cover(one, other)
        and (not one.ports or (bool(other.ports) and _within(joined(other.ports), joined(one.ports))))
    )


def _protocols_cover(one: AccessRule, other: AccessRule) -> bool:
    if not one.protocols:
        return True
    inner = other.protocols or (("tcp", "udp") if other.ports else ())
    return bool(inner) and set(inner) <= set(one.protocols)


def _within(narrow: Ranges, wide: Ranges) -> bool:
    """Return whether each narrow range is inside one of the wide ranges, which are joined where they touch."""
    lows = [low for low, _ in wide]
    found = ((high, bisect_right(lows, low)) for low, high in narrow)
    return all(i and high <= wide[i - 1][1] for high, i in found)


@lru_cache(maxsize=1024)
def joined(ranges: Ranges) -> Ranges:
    """Return the ranges sorted, with those that touch or overlap joined."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)
