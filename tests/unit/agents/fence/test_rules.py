"""The text of the rules: deterministic, complete per fence, and strict about names.
tests/integration/test_agent_fence.py shows their effect on real traffic."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.fence import OTHER_VNI, OUTSIDE, UNASKED, Fence, Underlay, ruleset

FENCES = [
    Fence("lan1", "pw1.*", "10.1.0.0/24"),
    Fence("lan2", "vx2", "10.2.0.0/24"),
    Fence("lan11", "pw11.*", "2001:db8::/64"),
    Fence("lan12", "pw12.*", "10.12.0.0/24", "2001:db8:12::/64", ("2001:db8:12::1", "fe80::1")),
]


@given(st.permutations(FENCES))
def test_equal_sets_give_equal_text(fences: list[Fence]) -> None:
    assert ruleset(fences) == ruleset(FENCES)


def test_no_fences_leave_no_table() -> None:
    lines = ruleset([]).splitlines()
    assert lines == ["table bridge weft", "delete table bridge weft", "table inet weft", "delete table inet weft"]


def test_replacement_is_one_transaction() -> None:
    text = ruleset(FENCES)
    for family in ("bridge", "inet"):
        assert text.index(f"delete table {family} weft") < text.index(f"table {family} weft {{")


@given(st.sets(st.integers(1, 255), max_size=5))
def test_every_drop_has_a_counter_of_its_lan(indices: set[int]) -> None:
    text = ruleset([Fence(f"lan{i}", f"pw{i}.*", f"10.{i}.0.0/24") for i in indices])
    declared = set(re.findall(r"counter (\S+) \{ \}", text))
    used = set(re.findall(r"counter name (\S+) drop", text))
    assert declared == used
    assert {name.split(".")[0] for name in declared} == {f"lan{i}" for i in indices}
    assert len(re.findall(r"drop$", text, re.M)) == len(re.findall(r"counter name \S+ drop$", text, re.M))


def test_a_lan_with_both_families_has_both_in_its_rules() -> None:
    text = ruleset(FENCES[-1:])
    for line in (
        "ip daddr != 10.12.0.0/24 counter name lan12.transit drop",
        "ip6 daddr != 2001:db8:12::/64 counter name lan12.transit drop",
        "ip6 saddr { 2001:db8:12::1, fe80::1 } counter name lan12.gateway-in drop",
        'oifname "lan12" icmpv6 type 137 counter name lan12.redirect drop',
    ):
        assert line in text
    assert "icmpv6 type 133-137" not in text and "nfproto ipv6" not in text
    assert {"elements = { 10.12.0.0/24 }", "elements = { 2001:db8:12::/64 }"} <= set(re.findall(r"elements.*", text))


def test_one_pattern_does_not_take_another_lans_tunnels() -> None:
    text = ruleset(FENCES)
    assert 'iifname "pw1.*" jump lan1.in' in text
    assert 'iifname "pw11.*" jump lan11.in' in text


@pytest.mark.parametrize(
    ("bridge", "tunnels", "prefix", "complaint"),
    [
        ("lan 1", "pw1.*", "10.1.0.0/24", "bridge"),
        ('lan1"', "pw1.*", "10.1.0.0/24", "bridge"),
        ("a-name-of-sixteen", "pw1.*", "10.1.0.0/24", "bridge"),
        ("lan1", 'pw1.*" drop', "10.1.0.0/24", "tunnels"),
        ("lan1", "*", "10.1.0.0/24", "tunnels"),
        ("lan1", "", "10.1.0.0/24", "tunnels"),
        ("lan1", "pw1.*", "10.1.0.1/24", "host bits"),
        ("lan1", "pw1.*", "everywhere", "prefix"),
    ],
)
def test_names_the_bad_field(bridge: str, tunnels: str, prefix: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Fence(bridge, tunnels, prefix)


@pytest.mark.parametrize(
    ("prefix6", "gateways6", "complaint"),
    [("10.2.0.0/24", (), "prefix6"), ("2001:db8::1/64", (), "prefix6"), ("2001:db8::/64", ("lan1",), "gateways6")],
)
def test_names_the_bad_field_of_ipv6(prefix6: str, gateways6: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Fence("lan1", "pw1.*", "10.1.0.0/24", prefix6, gateways6)


def test_a_bridge_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="lan1: there twice"):
        ruleset([FENCES[0], Fence("lan1", "vx1", "10.9.0.0/24")])


def test_what_visitors_send_to_another_gateway_is_turned_to_this_one() -> None:
    mac = "02:57:01:02:03:04"
    near = Fence("lan1", "pw1.*", "10.1.0.0/24", None, (), mac, ("wv1a", "md0", "a b"))
    text = ruleset([near, FENCES[1]])
    another = "ether daddr & ff:ff:00:00:00:00 == 02:57:00:00:00:00"
    assert f'iifname {{ "md0", "wv1a" }} {another} ether daddr != {mac} jump lan1.visitors' in text
    assert f"ip daddr != 169.254.0.0/16 ether daddr set {mac} meta pkttype set host" in text
    assert "ip6 daddr" not in text.partition("table inet weft {")[0], "this LAN's gateway routes no IPv6"
    assert (
        "visitors"
        not in ruleset([FENCES[0], Fence("lan2", "vx2", "10.2.0.0/24", None, (), mac, ())]).partition(
            "chain prerouting"
        )[2]
    )


def test_names_the_bad_mac() -> None:
    with pytest.raises(ValueError, match="lan1: mac"):
        Fence("lan1", "pw1.*", "10.1.0.0/24", mac="02:57")


def test_strangers_do_not_reach_where_machines_arrive() -> None:
    """The rules look only at packets that open a connection, since connections from this host use the same ports."""
    arrivals = (range(5000, 5011), range(49152, 49216))
    text = ruleset(FENCES, Underlay("192.0.2.1", frozenset({("192.0.2.2", 4098)}), arrivals))
    opening = 'iifname != "lo" ip saddr != @vteps tcp flags & (syn | ack) == syn'
    for ports in ("5000-5010", "49152-49215"):
        assert f"ip daddr 192.0.2.1 tcp dport {ports} {opening} counter name {UNASKED} drop" in text
    assert text.count(f"counter name {UNASKED} drop") == 2
    assert "tcp" not in ruleset(FENCES, Underlay("192.0.2.1", frozenset())), "none arrive"
    six = ruleset(FENCES, Underlay("2001:db8::1", frozenset({("2001:db8::2", 4098)}), arrivals))
    assert "ip6 daddr 2001:db8::1 tcp dport 5000-5010" in six and "ip6 saddr != @vteps tcp flags" in six


def test_vxlan_is_taken_by_source_and_vni() -> None:
    """At the own VTEP the rules accept each peer's VXLAN with the VNIs of its tunnels. At other addresses they accept
    none with a VNI of a tunnel."""
    for vtep, peer, family, other in (
        ("192.0.2.1", "192.0.2.2", "ip", "ipv6"),
        ("2001:db8::1", "2001:db8::2", "ip6", "ipv4"),
    ):
        text = ruleset(FENCES, Underlay(vtep, frozenset({(peer, 4098), (peer, 7)})))
        here = f"{family} daddr {vtep} udp dport 4789"
        assert f"elements = {{ {peer} . 0x7, {peer} . 0x1002 }}" in text and "elements = { 0x7, 0x1002 }" in text
        assert f"{here} {family} saddr != @vteps counter name {OUTSIDE} drop" in text
        assert f"{here} {family} saddr . @th,96,24 != @tunnels counter name {OTHER_VNI} drop" in text
        assert f"{family} daddr != {vtep} udp dport 4789 @th,96,24 @vnis counter name {OUTSIDE} drop" in text
        assert f"meta nfproto {other} udp dport 4789 @th,96,24 @vnis counter name {OUTSIDE} drop" in text
