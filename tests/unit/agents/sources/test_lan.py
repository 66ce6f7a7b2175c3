"""Which client may send from which address, without a kernel."""

from ipaddress import IPv4Network, IPv6Network

from agents.leases.room import Room
from agents.sources.lan import GuardedLan, Leased
from agents.sources.machines import Visit
from agents.sources.rules import changes, elements_of
from controller.core.policy.model import Addresses, LanPlan
from controller.wire.delegations import Block, Client, Exchanged
from controller.wire.machines import client_id

A, B, C = "02:00:5e:00:00:0a", "02:00:5e:00:00:0b", "02:00:5e:00:00:0c"
HOME = Visit(endpoint="e1", macs=(A, B), addresses=("10.1.0.5", "10.2.0.5"))


def lan(**clients: Client) -> GuardedLan:
    leased = {int(name[1:]): client for name, client in clients.items()}
    made = GuardedLan("lan1", IPv4Network("10.1.0.0/24"), IPv6Network("2001:db8:1::/64"), Leased(leased))
    for offset in leased:
        made.settle(offset)
    return made


def test_a_lease_is_its_clients_and_a_machines_is_both_its_nics() -> None:
    here = lan(_2=Client(mac=C), _7=Client(mac=B), _9=Client(mac=C, client_id=client_id("v1")))
    assert here.held == {2: {C}, 7: {B}, 9: {C}}
    concerned = here.visit("v1", HOME)
    assert concerned == {5, 7, 9}, "what it brought of this LAN, and what it has leased"
    assert {offset: here.settle(offset)[1] for offset in concerned} == {5: {A, B}, 7: {A, B}, 9: {A, B, C}}
    assert here.visit("v1", None) == {5, 7, 9}
    assert [here.settle(offset) for offset in (5, 7)] == [
        (frozenset({A, B}), frozenset()),
        (frozenset({A, B}), frozenset({B})),
    ]


def test_what_changes_are_single_elements_of_both_families() -> None:
    here, raw = lan(), "0x20010db8000100000000000000000005"
    first = dict(changes(here, 5, frozenset(), frozenset({A})))
    assert first == {
        ("lan1.held4", f"{A} . 10.1.0.5"): True,
        ("lan1.bound4", "10.1.0.5"): True,
        ("lan1.held6", f"{A} . 2001:db8:1::5"): True,
        ("lan1.target", f"{A} . {raw}"): True,
        ("lan1.bound6", "2001:db8:1::5"): True,
        ("lan1.about", raw): True,
    }
    other = dict(changes(here, 5, frozenset({A}), frozenset({B})))
    assert ("lan1.bound4", "10.1.0.5") not in other and other["lan1.held4", f"{A} . 10.1.0.5"] is False
    assert not dict(changes(here, 5, frozenset({A}), frozenset({A})))


def test_a_range_is_what_the_agent_gives_out_less_what_is_somebody_elses() -> None:
    room = Room(lambda table, key, value: None)
    room.add([Block(number=0, first=0, pairs=8), Block(number=2, first=16, pairs=8)], ())
    assert room.given_out() == [(0, 7), (16, 23)]
    room.without = [(0, 1), (4, 4), (7, 17), (4, 4)]
    assert room.given_out() == [(2, 3), (5, 6), (18, 23)]
    room.without = [(0, 100)]
    assert room.given_out() == []
    room.rest(10.0, ())
    assert room.given_out() == [], "what rests may be in use by somebody who was forgotten"
    assert elements_of(lan(), [(2, 17)]) == {
        ("lan1.ranges4", "10.1.0.2-10.1.0.17"),
        ("lan1.ranges6", "2001:db8:1::2-2001:db8:1::11"),
        ("lan1.near", "0x20010db8000100000000000000000002-0x20010db8000100000000000000000011"),
    }


def test_a_lan_is_bound_unless_the_policy_says_not() -> None:
    assert Addresses().bound("e1")
    assert not Addresses(bind_sources=False).bound("e1")
    assert Addresses(bind_sources=False, lans={"e1": LanPlan(bind_sources=True)}).bound("e1")
    assert not Addresses(lans={"e1": LanPlan(bind_sources=False), "e2": LanPlan()}).bound("e1")


def test_agents_of_a_former_release_read_what_is_said_by_default() -> None:
    assert "bound" not in Exchanged(lease_seconds=60).model_dump(exclude_defaults=True)
