"""Base chains of other programs that drop by policy packets that have to pass. Pure; the input is nft's JSON
(libnftables-json(5)).

The rules of a chain are not evaluated. A chain that drops by policy is assumed to let packets through if a rule that
can be reached from it accepts them by name: the bridge of a LAN at the forward hook, the VXLAN port at input and
output.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from agents.kernel.snapshot import VXLAN_PORT
from controller.wire.findings import Finding

_OURS = "weft"
_WAYS = {
    "forward": "what the LANs send to each other and outwards",
    "input": "VXLAN from other cloudlets",
    "output": "VXLAN to other cloudlets",
    "prerouting": "everything that comes in",
    "postrouting": "everything that leaves",
}


@dataclass(frozen=True, slots=True)
class Chain:
    """A base chain that drops all packets that no rule accepts."""

    family: str
    table: str
    name: str
    hook: str


def dropping(objects: Iterable[Mapping[str, Any]]) -> list[Chain]:
    """Return the base chains of other programs that drop by policy, at hooks that the LANs' packets pass."""
    chains = (item["chain"] for item in objects if "chain" in item)
    return [
        Chain(chain["family"], chain["table"], chain["name"], chain["hook"])
        for chain in chains
        if chain.get("policy") == "drop"
        and chain.get("hook") in _WAYS
        and chain["family"] in ("ip", "ip6", "inet", "bridge")
        and not chain["table"].startswith(_OURS)
    ]


def passes(chain: Chain, objects: Sequence[Mapping[str, Any]], bridges: Iterable[str]) -> bool:
    """Return whether rules in the chain's table, given as `objects`, accept the packets that have to pass: at the
    forward hook those from or to each of `bridges`."""
    accepting = list(_accepting(chain.name, _by_chain(objects)))
    if any(not _matches(rule) for rule in accepting):
        return True
    if chain.hook == "forward":
        return all(any(_names(rule, bridge) for rule in accepting) for bridge in bridges)
    return any(_has_port(rule) for rule in accepting)


def finding(chain: Chain, bridged: bool) -> Finding:
    """Return the finding about a chain. `bridged`: whether IP chains see bridged packets too (br_netfilter)."""
    name = f"{chain.family} {chain.table} {chain.name}"
    more = ""
    if bridged and chain.family != "bridge" and chain.hook == "forward":
        more = ", also what is only bridged, as net.bridge.bridge-nf-call-iptables is 1"
    text = f"The chain {name} drops by policy at the {chain.hook} hook {_WAYS[chain.hook]}{more}."
    return Finding(kind="foreign-rules", subject=name[:120], expected="accepts", found="policy drop", text=text[:500])


def _by_chain(objects: Iterable[Mapping[str, Any]]) -> dict[str, list[list[Mapping[str, Any]]]]:
    found: dict[str, list[list[Mapping[str, Any]]]] = {}
    for item in objects:
        if "rule" in item:
            found.setdefault(item["rule"]["chain"], []).append(item["rule"].get("expr", []))
    return found


def _accepting(start: str, rules: Mapping[str, list[list[Mapping[str, Any]]]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the rules that accept, in the chain `start` and in the chains that it jumps to."""
    seen, todo = set[str](), [start]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for expressions in rules.get(name, []):
            for one in expressions:
                if "accept" in one:
                    yield expressions
                target = _object(one.get("jump") or one.get("goto")).get("target")
                if isinstance(target, str):
                    todo.append(target)


def _matches(rule: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the rule has a condition. A condition that nft cannot express (iptables extensions) counts too."""
    return any(not ({"accept", "counter", "comment", "log"} & one.keys()) for one in rule)


def _names(rule: Iterable[Mapping[str, Any]], bridge: str) -> bool:
    for one in rule:
        match = _object(one.get("match"))
        if match.get("op") in ("==", "in"):
            key = _object(_object(match.get("left")).get("meta")).get("key")
            if key in ("iifname", "oifname", "iif", "oif", "ibrname", "obrname"):
                return any(isinstance(v, str) and fnmatchcase(bridge, v) for v in _values(match.get("right")))
    return False


def _has_port(rule: Iterable[Mapping[str, Any]]) -> bool:
    return any(
        value == VXLAN_PORT or (isinstance(value, range) and VXLAN_PORT in value)
        for one in rule
        for value in _values(_object(one.get("match")).get("right"))
    )


def _values(right: object, depth: int = 4) -> Iterator[object]:
    """Yield the values on the right side of a match, also those within sets. Other programs write the rules, so that
    `right` may be anything."""
    among, between = _object(right).get("set"), _object(right).get("range")
    if isinstance(among, list):
        for one in among if depth else ():
            yield from _values(one, depth - 1)
    elif isinstance(between, list) and len(between) == 2 and all(isinstance(end, int) for end in between):
        yield range(between[0], between[1] + 1)
    else:
        yield right


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
