"""The first matching rule decides, the strictest pool wins, and the compiled Flowspec rules decide the same."""

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.access import ALL_PORTS, OTHER, Flow, classes, judge, matches
from controller.core.filters import differences, filters
from controller.core.flowspec import FlowSpec, actions, number
from controller.core.intent import Cloudlet, Endpoint, Intent, Vcp
from controller.core.policy.model import AccessRule, Action, Rules
from controller.wire.flavours import Flavour

NAMES = ("a", "b", "c", "d")
DROP, ACCEPT, LIMIT, MARK = Action.DROP, Action.ACCEPT, Action.RATE_LIMIT, Action.MARK


def region(pools: dict[str, str], access: dict[str, tuple[AccessRule, ...]], **families: str) -> Intent:
    """Return an intent with endpoints a to d, pools of them, and rules."""
    return Intent(
        cloudlets={f"c{i}": Cloudlet(f"c{i}", Flavour.VPLS, f"192.0.2.{i}") for i in range(4)},
        endpoints={
            name: Endpoint(name, f"c{i}", i + 1, 1, f"10.{i}.0.0/24", f"10.{i}.0.1", prefix6=f"2001:db8:{i}::/64")
            for i, name in enumerate(NAMES)
        },
        vcps={name: Vcp(name, members=frozenset(who), family=families.get(name)) for name, who in pools.items()},
        policy=Rules(access=access),
    )


ports = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda pair: (min(pair) * 20, max(pair) * 20 + 5))
protocols = st.sampled_from(["tcp", "udp", "icmp", "gre", "89"])


def rule(
    name: str, action: Action, sources: str, destinations: str, protos: list[str], ranges: list[tuple[int, int]]
) -> AccessRule:
    ranges = ranges if set(protos) <= {"tcp", "udp"} else []
    rate, dscp = (500 if action is LIMIT else None), (10 if action is MARK else None)
    return AccessRule(
        name, action, frozenset(sources), frozenset(destinations), tuple(protos), tuple(ranges), rate, dscp
    )


ends = st.sets(st.sampled_from(NAMES), max_size=3).map("".join)
rules = st.lists(
    st.builds(
        rule,
        st.just("r"),
        st.sampled_from(Action),
        ends,
        ends,
        st.lists(protocols, max_size=2),
        st.lists(ports, max_size=2),
    ),
    max_size=5,
).map(tuple)
regions = st.builds(
    lambda red, blue, one, two: region({"red": red, "blue": blue}, {"red": one, "blue": two}),
    st.sets(st.sampled_from(NAMES), min_size=2).map("".join),
    st.sets(st.sampled_from(NAMES), min_size=2).map("".join),
    rules,
    rules,
)
flows = st.builds(Flow, st.sampled_from(NAMES), st.sampled_from(NAMES), protocols | st.just("50")).flatmap(
    lambda flow: (
        st.integers(0, 200).map(lambda port: replace(flow, port=port))
        if flow.protocol in ("tcp", "udp")
        else st.just(flow)
    )
)


def matching(specs: tuple[FlowSpec, ...], intent: Intent, flow: Flow, version: int) -> Iterator[FlowSpec]:
    """Yield the rules that match a flow, as a router does it: by prefix, number and port."""
    for spec in specs:
        source = intent.endpoints[flow.source]
        prefix = source.prefix if version == 4 else source.prefix6
        if ip_network(spec.source).version != version or spec.source != prefix:
            continue
        proto = number(flow.protocol, version)
        if spec.protocols and not any(low <= proto <= high for low, high in spec.protocols):
            continue
        if spec.ports and (flow.port is None or not any(low <= flow.port <= high for low, high in spec.ports)):
            continue
        yield spec


@given(regions, st.lists(flows, min_size=1, max_size=4), st.sampled_from([4, 6]))
def test_the_compiled_filters_decide_as_the_rules_do(intent: Intent, some: list[Flow], version: int) -> None:
    compiled = filters(intent)
    for (source, destination), flow in product(permutations(NAMES, 2), some):
        flow = replace(flow, source=source, destination=destination)
        verdict = judge(intent, flow)
        if verdict.rulings:
            found = [spec.actions for spec in matching(compiled.get(destination, ()), intent, flow, version)]
            assert found == ([actions(verdict)] if actions(verdict) else [])


@given(regions)
def test_filters_are_about_members_and_sorted(intent: Intent) -> None:
    for endpoint, specs in filters(intent).items():
        own = intent.endpoints[endpoint]
        others = {
            prefix
            for name in intent.remotes(endpoint)
            for e in [intent.endpoints[name]]
            for prefix in (e.prefix, e.prefix6)
        }
        assert list(specs) == sorted(specs) and len(set(specs)) == len(specs)
        assert all(spec.destination in (own.prefix, own.prefix6) and spec.source in others for spec in specs)


@given(regions, regions)
def test_differences_lead_from_the_filters_of_one_intent_to_those_of_another(before: Intent, after: Intent) -> None:
    was = {endpoint: set(specs) for endpoint, specs in filters(before).items()}
    for difference in differences(before, after):
        specs = was.setdefault(difference.endpoint, set())
        assert specs >= set(difference.gone) and specs.isdisjoint(difference.new)
        was[difference.endpoint] = specs - set(difference.gone) | set(difference.new)
    assert {endpoint: specs for endpoint, specs in was.items() if specs} == {
        endpoint: set(specs) for endpoint, specs in filters(after).items()
    }
    assert list(differences(before, before)) == []


@given(rules, flows)
def test_classes_tell_all_differences(found: tuple[AccessRule, ...], flow: Flow) -> None:
    """The rules treat all ports of a class like its first port."""
    named = {protocol for protocol, _ in classes(found)}
    protocol = flow.protocol if flow.protocol in named else OTHER
    (inside,) = [
        ports
        for name, ports in classes(found)
        if name == protocol and (ports is None or (flow.port is not None and ports[0] <= flow.port <= ports[1]))
    ]
    first = replace(flow, protocol=protocol, port=None if inside is None else inside[0])
    assert [matches(each, flow) for each in found] == [matches(each, first) for each in found]


def test_classes_cover_all_ports() -> None:
    found = [p for name, p in classes([AccessRule("r", DROP, ports=((0, 5), (65535, 65535)))]) if name == "tcp" and p]
    assert found == [(0, 5), (6, 65534), (65535, 65535)]
    assert [p for name, p in classes([]) if name == "udp"] == [ALL_PORTS]


def test_the_first_rule_decides_and_the_strictest_pool() -> None:
    web = AccessRule("web", ACCEPT, destinations=frozenset("b"), protocols=("tcp",), ports=((443, 443),))
    closed = AccessRule("closed", DROP, destinations=frozenset("b"))
    slow, slower = AccessRule("slow", LIMIT, rate_kbps=900), AccessRule("slower", LIMIT, rate_kbps=100)
    intent = region({"red": "ab", "blue": "abc", "plain": "cd"}, {"red": (web, closed), "blue": (slow,)})
    assert judge(intent, Flow("a", "b", "tcp", 443)).passes
    assert not judge(intent, Flow("a", "b", "tcp", 80)).passes
    assert judge(intent, Flow("b", "a", "tcp", 80)).passes
    verdict = judge(intent, Flow("a", "b", "udp", 443))
    assert [(ruling.vcp, ruling.rule and ruling.rule.name) for ruling in verdict.rulings] == [
        ("blue", "slow"),
        ("red", "closed"),
    ]
    assert judge(intent, Flow("a", "c")).rate_kbps == 900
    assert judge(intent, Flow("c", "d")).passes and not judge(intent, Flow("a", "d")).passes
    both = region({"red": "ab", "blue": "ab"}, {"red": (slow,), "blue": (slower,)})
    assert judge(both, Flow("a", "b")).rate_kbps == 100


def test_rules_of_a_family_hold_in_each_of_its_pools() -> None:
    intent = region({"town-1": "ab", "other": "cd"}, {"town": (AccessRule("no", DROP),)}, **{"town-1": "town"})
    assert not judge(intent, Flow("a", "b")).passes and judge(intent, Flow("c", "d")).passes


GOLDEN = """\
from 10.0.0.0/24 to 10.1.0.0/24, protocol 0-5 or 7-255: drop
from 10.0.0.0/24 to 10.1.0.0/24, protocol 6, port 0-79 or 81-442 or 444-65535: drop
from 2001:db8:0::/64 to 2001:db8:1::/64, protocol 0-5 or 7-255: drop
from 2001:db8:0::/64 to 2001:db8:1::/64, protocol 6, port 0-79 or 81-442 or 444-65535: drop
from 10.2.0.0/24 to 10.1.0.0/24, protocol 1: mark DSCP 46
from 10.2.0.0/24 to 10.1.0.0/24, protocol 17, port 0-52 or 54-65535: limit to 2000 kbit/s
from 2001:db8:2::/64 to 2001:db8:1::/64, protocol 17, port 0-52 or 54-65535: limit to 2000 kbit/s
from 2001:db8:2::/64 to 2001:db8:1::/64, protocol 58: mark DSCP 46
"""


def test_what_is_compiled() -> None:
    a, b, c, tcp, udp = frozenset("a"), frozenset("b"), frozenset("c"), ("tcp",), ("udp",)
    intent = region(
        {"red": "abc"},
        {
            "red": (
                AccessRule("web", ACCEPT, a, b, tcp, ((443, 443), (80, 80))),
                AccessRule("closed", DROP, a, b),
                AccessRule("dns", ACCEPT, c, b, udp, ((53, 53),)),
                AccessRule("udp", LIMIT, c, b, udp, rate_kbps=2000),
                AccessRule("ping", MARK, c, b, ("icmp",), dscp=46),
            )
        },
    )
    found = filters(intent)
    assert list(found) == ["b"]
    assert sorted(map(str, found["b"])) == sorted(GOLDEN.splitlines())


@pytest.mark.parametrize(
    ("spec", "nlri"),
    [
        # As in RFC 8955, section 4.3, but for type 5 (destination port) where the examples have type 4 (either port).
        (
            FlowSpec("192.0.2.0/24", "203.0.113.0/24", (), ((137, 139), (8080, 8080)), ()),
            "120118c000020218cb0071050389458b911f90",
        ),
        (FlowSpec("10.1.0.0/24", "10.0.0.0/8", ((6, 6),), (), ()), "0b01180a010002080a038106"),
        # RFC 8956, section 3.1: the offset stands between length and pattern.
        (FlowSpec("2001:db8:1::/48", "::/0", ((58, 58),), (), ()), "0f01300020010db8000102000003813a"),
        (
            FlowSpec("0.0.0.0/0", "10.0.0.0/31", ((0, 5), (7, 255)), ((1, 65535),), ()),
            "170100021f0a00000003030045050307c5ff050301d5ffff",
        ),
    ],
)
def test_the_wire_form(spec: FlowSpec, nlri: str) -> None:
    assert spec.nlri().hex() == nlri


def test_a_long_specification_has_a_long_length() -> None:
    nlri = FlowSpec("10.0.0.0/24", "10.1.0.0/24", (), tuple((n, n + 1) for n in range(0, 1000, 4)), ()).nlri()
    assert nlri[0] >> 4 == 0xF and int.from_bytes(nlri[:2]) & 0xFFF == len(nlri) - 2


def test_very_many_ports_are_several_specifications() -> None:
    scattered = AccessRule("r", DROP, protocols=("tcp",), ports=tuple((n, n) for n in range(0, 2000, 2)))
    specs = [s for s in filters(region({"red": "ab"}, {"red": (scattered,)}))["b"] if ":" not in s.source]
    assert len(specs) == 32 and sum(len(s.ports) for s in specs) == 1000


def test_no_specification_is_longer_than_gobgp_reads() -> None:
    odd = tuple(str(n) for n in range(1, 256, 2))
    ports = tuple((n, n + 1) for n in range(1000, 2000, 3))
    found = (AccessRule("r", DROP, ports=ports), AccessRule("s", DROP, protocols=odd), AccessRule("t", MARK, dscp=1))
    specs = filters(region({"red": "ab"}, {"red": found}))["b"]
    assert {spec.actions for spec in specs} == {("8006000000000000",), ("8009000000000001",)}
    assert max(len(spec.nlri()) for spec in specs) < 240


def test_the_actions_on_the_wire() -> None:
    """The encoding is that of RFC 8955, sections 7.1 and 7.5: rate in bytes per second as an IEEE float, DSCP in the
    last octet."""
    intent = region({"red": "ab"}, {"red": (AccessRule("r", LIMIT, rate_kbps=8),)})
    assert actions(judge(intent, Flow("a", "b"))) == ("80060000447a0000",)
    intent = region({"red": "ab"}, {"red": (AccessRule("r", MARK, dscp=46),)})
    assert actions(judge(intent, Flow("a", "b"))) == ("800900000000002e",)
    assert actions(judge(intent, Flow("a", "c"))) == ("8006000000000000",)
