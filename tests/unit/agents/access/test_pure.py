"""Flowspec rules in their wire format, their order, and the resulting nft text."""

import struct
from functools import cmp_to_key
from ipaddress import ip_network
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.access.rules import Filtering, Objects, objects, ruleset, sweep
from agents.access.specification import DESTINATION, FROM_PORT, PROTOCOL, SOURCE, TO_PORT, Specification, ordered, read
from controller.core.flowspec import FlowSpec
from controller.wire.access import Filter

DROP, FAST = struct.pack("!BBHf", 0x80, 6, 0, 0).hex(), struct.pack("!BBHf", 0x80, 6, 0, 125000).hex()
MARK = struct.pack("!BB5xB", 0x80, 9, 46).hex()


def filter4(nlri: bytes, *actions: str) -> Filter:
    return Filter(family="ipv4-flowspec", nlri=(bytes([len(nlri)]) + nlri).hex(), actions=list(actions or (DROP,)))


def made(spec: FlowSpec) -> Specification:
    family = "ipv6-flowspec" if ":" in spec.destination else "ipv4-flowspec"
    return read(Filter.model_validate({"family": family, "nlri": spec.nlri().hex(), "actions": list(spec.actions)}))


ranges = st.lists(st.tuples(st.integers(0, 65535), st.integers(0, 65535)).map(sorted), max_size=4).map(
    lambda found: tuple(sorted((a, b) for a, b in found))
)
specs = st.builds(
    FlowSpec,
    st.sampled_from(["10.1.0.0/24", "10.1.0.0/16", "10.1.0.128/25"]),
    st.sampled_from(["10.2.0.0/24", "10.3.0.0/24", "0.0.0.0/0"]),
    st.sampled_from([(), ((6, 6),), ((17, 17),), ((0, 5), (7, 255))]),
    ranges,
    st.sampled_from([(DROP,), (FAST,), (MARK,), (FAST, MARK)]),
).map(made)


@given(specs)
def test_what_the_controller_writes_is_read(one: Specification) -> None:
    assert one.version == 4
    assert str(one.prefix(DESTINATION)).startswith("10.1.")
    assert one.prefix(SOURCE) is not None


@given(ranges)
def test_ranges_mean_what_they_meant(wanted: tuple[tuple[int, int], ...]) -> None:
    one = made(FlowSpec("2001:db8:1::/48", "2001:db8:2::/64", (), wanted, (DROP,)))
    assert one.prefix(DESTINATION) == ip_network("2001:db8:1::/48")
    assert one.prefix(SOURCE) == ip_network("2001:db8:2::/64")
    numbers = one.numbers(TO_PORT) or ()
    for port in {edge + d for pair in wanted for edge in pair for d in (-1, 0, 1)}:
        said = any(a <= port <= b for a, b in wanted)
        assert any(a <= port <= b for a, b in numbers) is said


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        ("8106", ((6, 6),)),
        ("8406", ((0, 5),)),
        ("8606", ((0, 5), (7, 255))),  # less or greater: not equal
        ("8700", ((0, 255),)),
        ("8000", ()),
        ("0306c50a", ((6, 10),)),
        ("0106810a", ((6, 6), (10, 10))),
        ("910100", ()),  # beyond what there is
    ],
)
def test_operators(operators: str, expected: tuple[tuple[int, int], ...]) -> None:
    """Numeric operators: RFC 8955, section 4.2.1.1."""
    assert read(filter4(bytes.fromhex("03" + operators))).numbers(PROTOCOL) == expected


@pytest.mark.parametrize(
    ("nlri", "why"),
    [
        ("06038106018106", "order"),
        ("03038106ff", "not as long"),
        ("030b8106", "type 11"),
        ("0201ff", "cut off"),
        ("0401180a00", "cut off"),
        ("020301", "cut off"),
        ("06038106038106", "order"),
    ],
)
def test_what_is_not_understood_is_refused(nlri: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read(Filter(family="ipv4-flowspec", nlri=nlri, actions=[DROP]))


@pytest.mark.parametrize(
    "action", ["8006000000000000ff", "8008000000000000", struct.pack("!BBHf", 0x80, 6, 0, float("nan")).hex()]
)
def test_an_action_that_is_not_understood_is_refused(action: str) -> None:
    with pytest.raises(ValueError, match="action"):
        read(filter4(bytes.fromhex("038106"), action))


def test_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off"):
        read(Filter(family="ipv6-flowspec", nlri="050120100db8", actions=[DROP]))


# The order of RFC 8955, section 5.1, as its own pseudo-code has it.


def rfc(one: Specification, other: Specification) -> int:
    mine, theirs = list(one.components), list(other.components)
    while mine and theirs:
        (kind, value), (its, its_value) = mine.pop(0), theirs.pop(0)
        if kind < its:
            return -1
        if kind > its:
            return 1
        if kind in (1, 2):
            a, b = one.prefix(kind), other.prefix(kind)
            assert a is not None and b is not None
            if a == b:
                continue
            common = min(a.prefixlen, b.prefixlen)
            if int(a.network_address) >> (32 - common) == int(b.network_address) >> (32 - common):
                return -1 if a.prefixlen > b.prefixlen else 1
            return -1 if a.network_address.packed < b.network_address.packed else 1
        if value == its_value:
            continue
        length = min(len(value), len(its_value))
        if value[:length] == its_value[:length]:
            return -1 if len(value) > len(its_value) else 1
        return -1 if value[:length] < its_value[:length] else 1
    return -1 if mine else 1 if theirs else 0


@given(st.lists(specs, max_size=8))
def test_the_order_is_the_rfcs(found: list[Specification]) -> None:
    done = ordered(found)
    assert all(rfc(a, b) == -1 for a, b in pairwise(done))
    assert sorted(done, key=cmp_to_key(rfc)) == done
    assert {one.components for one in done} == {one.components for one in found}


# nft text.


def lan(*found: Specification) -> Filtering:
    return Filtering("lan1", "pw1.*", tuple(found))


@given(st.lists(specs, max_size=6), st.randoms(use_true_random=False))
def test_the_text_depends_on_nothing_but_what_is_to_be(found: list[Specification], chance: object) -> None:
    shuffled = list(found)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ruleset([lan(*found)]) == ruleset([lan(*shuffled, *found)])
    assert objects([lan(*found)]) == objects([lan(*shuffled)])


@pytest.mark.parametrize("lans", [[], [Filtering("lan1", "vx1", ())]])
def test_nothing_to_filter_is_no_table(lans: list[Filtering]) -> None:
    assert ruleset(lans) == "table bridge weft-access\ndelete table bridge weft-access\n"
    assert objects(lans) == Objects()


@given(st.lists(specs, max_size=6), st.lists(specs, max_size=6))
def test_what_stays_keeps_its_counters(before: list[Specification], after: list[Specification]) -> None:
    """The sweep removes the earlier objects that are no longer wanted; no remaining rule refers to them."""
    gone = objects([lan(*before)]) - objects([lan(*after)])
    text = sweep(gone)
    for one in ordered(after):
        assert f"delete counter bridge weft-access lan1.{one.name}\n" not in text
    assert not (gone.counters & objects([lan(*after)]).counters)
    assert bool(gone) == bool(text)


def test_rules_in_words() -> None:
    specific = FlowSpec("10.1.0.0/24", "10.2.0.0/24", ((6, 6),), ((22, 22), (80, 90)), (DROP,))
    limited = FlowSpec("10.1.0.0/24", "10.2.0.0/24", ((1, 1),), (), (FAST, MARK))
    text = ruleset([lan(made(specific), made(limited))])
    one, other = made(specific).name, made(limited).name
    lines = [line.strip() for line in text.splitlines()]
    assert "ip daddr 10.1.0.0/24 ip saddr 10.2.0.0/24 jump lan1.0" in lines
    assert f"meta l4proto 6 th dport {{ 22, 80-90 }} counter name lan1.{one} drop" in lines
    assert f"limit lan1.{other} {{ rate over 125000 bytes/second burst 65536 bytes }}" in lines
    assert f"meta l4proto 1 counter name lan1.{other} ip dscp set 46 accept" in lines
    assert lines.index("ip6 hoplimit 255 icmpv6 type 133-137 accept") < lines.index(
        "ip daddr 10.1.0.0/24 ip saddr 10.2.0.0/24 jump lan1.0"
    )


def test_ports_are_those_of_tcp_and_udp() -> None:
    one = read(filter4(bytes.fromhex("05811606811f")))
    assert one.numbers(FROM_PORT) == ((31, 31),)
    assert "meta l4proto { 6, 17 } th dport 22 th sport 31 counter" in ruleset([lan(one)])
    esp = read(filter4(bytes.fromhex("038132058116")))
    assert " drop" in ruleset([lan(esp)]) and esp.name + " drop" not in ruleset([lan(esp)])
