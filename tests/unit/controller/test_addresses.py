"""The address plan, for any prefix."""

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.addresses import AddressPlan, Network, PlanError, address6


@st.composite
def prefixes(draw: st.DrawFn) -> Network:
    """Draw a prefix of any length from /8 (IPv6: /32) to /29 (/125), on any base."""
    if draw(st.booleans()):
        length = draw(st.integers(8, 29))
        base = draw(st.integers(0, 2**length - 1)) << (32 - length)
        return IPv4Network((base, length))
    length = draw(st.integers(32, 125))
    base = draw(st.integers(0, 2**length - 1)) << (128 - length)
    return IPv6Network((base, length))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[AddressPlan, int]:
    plan = AddressPlan.of(str(draw(prefixes())))
    return plan, draw(st.integers(0, plan.capacity - 1))


def test_the_plan_of_a_24() -> None:
    plan = AddressPlan.of("10.1.0.0/24")
    assert str(plan.gateway) == "10.1.0.1"
    assert [str(a) for a in plan.pair(0)] == ["10.1.0.2", "10.1.0.3"]
    assert [str(a) for a in plan.pair(plan.capacity - 1)] == ["10.1.0.252", "10.1.0.253"]
    assert str(plan.reserved) == "10.1.0.254"
    assert plan.capacity == 126


def test_the_smallest_plan() -> None:
    plan = AddressPlan.of("10.0.0.248/29")
    assert [[str(a) for a in plan.pair(i)] for i in range(plan.capacity)] == [
        ["10.0.0.250", "10.0.0.251"],
        ["10.0.0.252", "10.0.0.253"],
    ]


@given(pairs())
def test_a_pair_is_even_then_odd_inside_the_prefix_and_found_again(case: tuple[AddressPlan, int]) -> None:
    plan, index = case
    md, vm = plan.pair(index)
    assert int(md) % 2 == 0 and int(vm) == int(md) + 1
    assert md in plan.network and vm in plan.network
    assert plan.index_of(md) == plan.index_of(vm) == index
    assert plan.vm_of(md) == vm and plan.md_of(vm) == md
    assert (plan.kind_of(md), plan.kind_of(vm)) == ("md", "vm")
    assert {md, vm}.isdisjoint({plan.network[0], plan.gateway, plan.reserved, plan.network[-1]})


@given(prefixes().filter(lambda p: p.version == 4), prefixes().filter(lambda p: p.version == 6), st.data())
def test_a_pair_has_one_number_in_both_families(four: Network, six: Network, data: st.DataObject) -> None:
    plan, plan6 = AddressPlan.of(str(four), str(six)), AddressPlan.of(str(six), str(four))
    assert plan.capacity == plan6.capacity == min(AddressPlan.of(str(one)).capacity for one in (four, six))
    index = data.draw(st.integers(0, plan.capacity - 1))
    for mine, theirs in zip(plan.pair(index), plan6.pair(index), strict=True):
        assert address6(str(four), str(six), str(mine)) == str(theirs)
        assert int(theirs) - int(six[0]) == int(mine) - int(four[0]), "the agent's short cut"
        assert plan6.index_of(theirs) == index and plan6.kind_of(theirs) == plan.kind_of(mine)
    with pytest.raises(PlanError, match="has pairs 0 to"):
        plan6.pair(plan6.capacity)


def test_a_64_beside_a_24_holds_what_the_24_does() -> None:
    plan = AddressPlan.of("2001:db8:1::/64", "10.1.0.0/24")
    assert plan.capacity == 126
    assert [str(a) for a in plan.pair(0)] == ["2001:db8:1::2", "2001:db8:1::3"]
    assert [str(a) for a in plan.pair(125)] == ["2001:db8:1::fc", "2001:db8:1::fd"]
    with pytest.raises(PlanError, match=r"2001:db8:1::fe is beyond the pairs of 10\.1\.0\.0/24"):
        plan.index_of(ip_address("2001:db8:1::fe"))
    assert address6("10.1.0.0/24", None, "10.1.0.2") is None


@given(prefixes())
def test_every_address_has_one_role(network: Network) -> None:
    plan = AddressPlan.of(str(network))
    if plan.capacity > 1000:
        assert plan.pair(plan.capacity - 1)[1] == network[-3]
        return
    given_out = [a for i in range(plan.capacity) for a in plan.pair(i)]
    assert given_out == [network[i] for i in range(2, network.num_addresses - 2)]


@given(prefixes(), st.data())
def test_what_is_no_address_of_a_pair_is_refused(network: Network, data: st.DataObject) -> None:
    plan = AddressPlan.of(str(network))
    for address in (network[0], network[1], network[-2], network[-1]):
        with pytest.raises(PlanError, match=r"is the (network|gateway|reserved|broadcast|last)"):
            plan.index_of(address)
    outside = ip_address(int(network[0]) - 1) if int(network[0]) else ip_address("255.255.255.255")
    if outside not in network and outside.version == network.version:
        with pytest.raises(PlanError, match="is not in"):
            plan.index_of(outside)
    md, vm = plan.pair(data.draw(st.integers(0, plan.capacity - 1)))
    with pytest.raises(PlanError, match="odd"):
        plan.vm_of(vm)
    with pytest.raises(PlanError, match="even"):
        plan.md_of(md)
    for index in (-1, plan.capacity):
        with pytest.raises(PlanError, match="has pairs 0 to"):
            plan.pair(index)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.1.0.0/30", "too small"),
        ("10.1.0.0/32", "too small"),
        ("2001:db8::/126", "too small"),
        ("10.1.0.1/24", "host bits set; the prefix is 10.1.0.0/24"),
        ("2001:db8::1/64", "host bits set"),
        ("10.1.0.0", "CIDR"),
        ("10.1.0.0/255.255.255.0", "CIDR"),
        ("10.1.0.0/33", "CIDR"),
        ("10.1.0/24", "CIDR"),
        ("/24", "CIDR"),
        ("", "CIDR"),
        ("10.1.0.0/٢٤", "CIDR"),
        ("fe80::%eth0/64", "CIDR"),
    ],
)
def test_bad_prefixes_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        AddressPlan.of(text)


@given(st.text(max_size=30))
def test_any_text_is_a_prefix_or_refused(text: str) -> None:
    try:
        plan = AddressPlan.of(text)
    except PlanError:
        return
    assert ip_network(text) == plan.network
