"""Conversion of routes to gobgpd's messages and back."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agents.bgp.gobgp import messages
from agents.kernel.vpls import Announcement, LabelBlock
from controller.wire.desired import Speaker

numbers = st.integers(0, 0xFFFF)
administrators = st.one_of(
    st.integers(1, 0xFFFF).map(str), st.integers(0x10000, 0xFFFFFFFF).map(str), st.ip_addresses(v=4).map(str)
)
pairs = st.builds("{}:{}".format, administrators, numbers)
routes = st.builds(
    Announcement,
    st.builds(
        LabelBlock, pairs, st.integers(1, 4095), st.integers(1, 4095), st.integers(1, 64), st.integers(0, 2**20 - 1)
    ),
    st.frozensets(pairs, max_size=3),
    st.ip_addresses(v=4).map(str),
    st.integers(0, 0xFFFF),
    st.booleans(),
)


@given(routes)
def test_there_and_back(route: Announcement) -> None:
    path = messages.path(route)
    assert messages.announcement(path) == route
    assert type(path).FromString(path.SerializeToString()) == path


def test_encodings_of_the_same_numbers_are_told_apart() -> None:
    block = LabelBlock("65000:1", 1, 1, 8, 1000)
    for rts in ({"65000:1"}, {"65000L:1"}, {"65000:1", "65000L:1", "4200000000:1", "192.0.2.1:1"}):
        for rd in ("65000:1", "65000L:1", "4200000000:1", "192.0.2.1:1"):
            sent = Announcement(replace(block, rd=rd), frozenset(rts), "192.0.2.1", 1500)
            assert messages.announcement(messages.path(sent)) == sent


def test_encapsulation_is_vxlan() -> None:
    path = messages.path(Announcement(LabelBlock("65000:1", 1, 1, 64, 4097), frozenset({"65000:1"}), "192.0.2.1", 1450))
    communities = path.pattrs[2].extended_communities.communities
    assert [c.WhichOneof("extcom") for c in communities] == ["two_octet_as_specific", "vpls", "encap"]
    assert (communities[1].vpls.mtu, communities[2].encap.tunnel_type) == (1450, 8)


def test_peers_are_compared_by_what_is_configured() -> None:
    one = messages.peer(Speaker(name="rs1", address="192.0.2.250", asn=65000), "192.0.2.1")
    same = messages.peer(Speaker(name="renamed", address="192.0.2.250", asn=65000), "192.0.2.1")
    moved = messages.peer(Speaker(name="rs1", address="192.0.2.250", asn=65000), "192.0.2.2")
    assert messages.same_peer(one, same) and not messages.same_peer(one, moved)
    same.graceful_restart.enabled = False
    assert not messages.same_peer(one, same)
    assert [f.config.family for f in one.afi_safis] == [messages.VPLS]
    assert one.timers.config.hold_time == 9
