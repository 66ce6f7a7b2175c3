"""Interruptions: the traffic that ends by a change, in sentences."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from controller.core import edits
from controller.core.alterations import alter_cloudlet, alter_endpoint
from controller.core.intent import CloudletState, Intent
from controller.core.interruptions import Inhabitants, inhabited, interruptions, listed
from controller.core.policy.model import Rules, Tenant
from controller.wire.flavours import Flavour
from tests.unit.controller.test_alterations import region

Change = Callable[[Intent], Intent]


def endpoint(**fields: object) -> Change:
    return lambda intent: alter_endpoint(intent, "c1-lan1", fields)


def told(before: Intent, change: Change, there: Inhabitants | None = None) -> list[str]:
    return [f"{one.kind} {one.name}: {one.what}" for one in interruptions(before, change(before), there)]


PORTS = region().with_endpoint(replace(region().endpoints["c1-lan1"], ports=("md*", "eth1"), prefix6="2001:db8::/64"))

CASES: list[tuple[str, Intent, Change, list[str]]] = [
    ("nothing", region(), lambda intent: intent, []),
    ("labels", region(), lambda intent: alter_cloudlet(intent, "c1", {"labels": {"a": "b"}}), []),
    ("a join", region(), lambda intent: edits.leave(intent, "blue", "c1-lan1"), []),
    ("lease time", region(), endpoint(lease_seconds=60), []),
    ("a larger MTU", region(), endpoint(mtu=1500), []),
    ("a smaller MTU without hosts", region(), endpoint(mtu=1400), []),
    ("more ports", PORTS, endpoint(ports=("md*", "eth1", "eth2")), []),
    ("no limit", region(), endpoint(max_routes=None), []),
    (
        "VTEP",
        region(),
        lambda intent: alter_cloudlet(intent, "c1", {"vtep": "192.0.2.77"}),
        [
            "cloudlet c1: its BGP sessions and its tunnels, to c2 and c3, end until its agent has the new state and "
            "its host the address 192.0.2.77"
        ],
    ),
    (
        "VTEP of a cloudlet in no pool",
        region(count=1),
        lambda intent: alter_cloudlet(intent, "c1", {"vtep": "192.0.2.77"}),
        [
            "cloudlet c1: its BGP sessions and its tunnels end until its agent has the new state and its host the "
            "address 192.0.2.77"
        ],
    ),
    (
        "VTEP of a PE without an agent",
        region(),
        lambda intent: alter_cloudlet(intent, "c9", {"vtep": "192.0.2.77"}),
        ["cloudlet c9: the BGP sessions of its PE end until its operator gives it the address 192.0.2.77"],
    ),
    (
        "AS number and distance",
        region(),
        lambda intent: alter_cloudlet(intent, "c9", {"asn": 64901, "ttl_security": 2}),
        [
            "cloudlet c9: the BGP sessions of its PE end until its operator gives it AS number 64901",
            "cloudlet c9: the BGP sessions of its PE begin anew: route servers drop what has crossed more than 2 hops",
        ],
    ),
    (
        "fewer ports",
        PORTS,
        endpoint(ports=("md*",)),
        ["endpoint c1-lan1: interfaces that only eth1 named leave the LAN, with the devices behind them"],
    ),
    (
        "a prefix",
        region(),
        endpoint(prefix="10.77.0.0/24"),
        [
            "endpoint c1-lan1: hosts with an address of 10.1.0.0/24 reach nothing beyond their LAN until they ask DHCP "
            "for one of 10.77.0.0/24"
        ],
    ),
    (
        "no IPv6",
        PORTS,
        endpoint(prefix6=None),
        ["endpoint c1-lan1: hosts with an address of 2001:db8::/64 reach nothing beyond their LAN"],
    ),
    ("IPv6 beside IPv4", region(), endpoint(prefix6="2001:db8::/64"), []),
    (
        "a limit",
        region(),
        endpoint(max_routes=1),
        ["endpoint c1-lan1: if its PE announces more than 1 route, all of them are in quarantine"],
    ),
    (
        "a drain",
        region(),
        lambda intent: edits.drain(intent, "c1"),
        ["endpoint c1-lan1: it leaves blue, whose other members its hosts no longer reach"],
    ),
    (
        "a VNI and an MTU without an agent",
        region(),
        lambda intent: alter_endpoint(intent, "c9-lan1", {"vni": 7, "mtu": 1400}),
        [
            "endpoint c9-lan1: its tunnels end, and come again with the VNI 7",
            "endpoint c9-lan1: its PE has no agent: configure it anew (weft cloudlet config c9)",
        ],
    ),
    (
        "a removal",
        region(),
        lambda intent: edits.remove_endpoint(intent, "c1-lan1"),
        [
            "endpoint c1-lan1: it leaves blue, whose other members its hosts no longer reach",
            "endpoint c1-lan1: its LAN ends",
        ],
    ),
]


@pytest.mark.parametrize(("before", "change", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_change_says_what_it_interrupts(before: Intent, change: Change, said: list[str]) -> None:
    assert told(before, change) == said


def test_hosts_and_vms_are_counted() -> None:
    there = Inhabitants(leases={"c1-lan1": 12}, vms={"c1-lan1": ("web", "db")})
    assert told(region(), endpoint(mtu=1400), there) == [
        "endpoint c1-lan1: packets of more than 1400 bytes to other cloudlets are lost until the hosts of 12 leases "
        "learn the new MTU at their next renewal, in half of 3600 s at most",
        "endpoint c1-lan1: packets of more than 1400 bytes to other cloudlets are lost from db and web, until started "
        "anew: a VM keeps the MTU with which it was started",
    ]
    removed = told(region(), lambda intent: edits.remove_endpoint(intent, "c1-lan1"), there)
    assert removed[-1] == "endpoint c1-lan1: its LAN ends, with 12 leases"


def test_inhabitants_are_asked_for_only_where_they_matter() -> None:
    before = region()
    assert inhabited(before, alter_endpoint(before, "c1-lan1", {"mtu": 1500, "ports": ("eth1",)})) == set()
    assert inhabited(before, alter_endpoint(before, "c1-lan1", {"mtu": 1400})) == {"c1-lan1"}
    assert inhabited(before, edits.remove_endpoint(before, "c2-lan1")) == {"c2-lan1"}


def test_a_tenant_that_has_to_consent() -> None:
    before = region().but(policy=Rules(tenants={"acme": Tenant("acme", consent=True)}))
    assert told(before, endpoint(tenant="acme")) == [
        "endpoint c1-lan1: it leaves blue, whose other members its hosts no longer reach",
        "endpoint c1-lan1: its LAN has neither gateway nor DHCP until tenant acme consents",
    ]
    held = alter_endpoint(before, "c1-lan1", {"tenant": "acme"})
    assert told(held, endpoint(ports=("eth1",), mtu=900)) == [], "there is nothing to interrupt"


def test_a_cloudlet_that_takes_no_part_has_nothing_to_interrupt() -> None:
    before = edits.set_state(edits.drain(region(), "c1"), "c1", CloudletState.INVITED)
    assert told(before, lambda intent: alter_cloudlet(intent, "c1", {"vtep": "192.0.2.77"})) == []
    assert told(before, endpoint(prefix="10.77.0.0/24")) == []


def test_many_names_are_counted() -> None:
    assert listed(["b", "a"]) == "a and b" and listed(["a"]) == "a"
    assert listed("gfedcba") == "a, b, c, d and 3 more"
    assert (
        "to c2, c3, c4, c5 and 2 more,"
        in told(region(Flavour.VPLS, 7), lambda intent: alter_cloudlet(intent, "c1", {"vtep": "192.0.2.77"}))[0]
    )
