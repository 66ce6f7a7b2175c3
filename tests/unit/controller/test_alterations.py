"""Alterations of cloudlets and endpoints: what can be another value, and why something cannot."""

from dataclasses import replace
from typing import Any

import pytest

from controller.core import edits
from controller.core.alterations import (
    alter_cloudlet,
    alter_cloudlets,
    alter_endpoint,
    alter_endpoints,
    described,
)
from controller.core.following import followed
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent, Vcp
from controller.core.policy.model import PolicyVcp, Rules, Tenant
from controller.core.refusals import Refused
from controller.core.rulesets import operations
from controller.wire.flavours import Flavour
from controller.wire.rulesets import SetPeer
from tests.unit.controller.regions import lan

SERVER = "192.0.2.200"


def region(pe: Flavour = Flavour.VPLS, count: int = 3) -> Intent:
    """Active cloudlets c1, c2, … with a LAN each, all in the pool blue; c9 is unmanaged and in no pool."""
    intent = Intent(route_servers={"rs1": SERVER})
    intent = edits.add_vcp(intent, Vcp("blue", pe))
    for number in range(1, count + 1):
        cloudlet = Cloudlet(f"c{number}", pe, f"192.0.2.{number}")
        intent = edits.add_cloudlet(intent, cloudlet, [SERVER])
        intent = edits.set_state(intent, cloudlet.name, CloudletState.ACTIVE)
        intent = edits.add_endpoint(intent, lan(number, 1, f"10.{number}.0.0/24"), [SERVER])
        intent = edits.join(intent, "blue", f"c{number}-lan1")
    intent = edits.add_cloudlet(intent, Cloudlet("c9", Flavour.EVPN, "192.0.2.9", unmanaged=True), [SERVER])
    return edits.add_endpoint(intent, lan(9, 1, "10.9.0.0/24"), [SERVER])


def altered(intent: Intent, **fields: Any) -> Endpoint:
    return alter_endpoint(intent, "c1-lan1", fields, [SERVER]).endpoints["c1-lan1"]


def refused(intent: Intent, name: str, **fields: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        if name in intent.cloudlets:
            alter_cloudlet(intent, name, fields, [SERVER])
        else:
            alter_endpoint(intent, name, fields, [SERVER])
    return caught.value


def test_simple_values_of_an_endpoint() -> None:
    intent = region()
    before = intent.endpoints["c1-lan1"]
    fields: dict[str, Any] = {"ports": ("eth1",), "mtu": 1300, "lease_seconds": 60, "max_routes": 5}
    assert altered(intent, **fields) == replace(before, **fields)
    assert alter_endpoint(intent, "c1-lan1", {"mtu": before.mtu}) is intent
    assert "c1-lan1" in alter_endpoint(intent, "c1-lan1", fields).vcps["blue"].members


def test_the_gateways_follow_from_the_prefixes() -> None:
    after = altered(region(), prefix="10.77.0.0/25", prefix6="2001:db8:77::/64", gateway="10.77.0.1")
    assert (after.gateway, after.gateway6) == ("10.77.0.1", "2001:db8:77::1")
    assert (altered(region(), gateway="10.1.0.1").gateway) == "10.1.0.1"
    without = alter_endpoint(region().with_endpoint(after), "c1-lan1", {"prefix6": None}).endpoints["c1-lan1"]
    assert (without.prefix6, without.gateway6) == (None, None)


@pytest.mark.parametrize(
    ("name", "fields", "kind", "field", "why"),
    [
        ("c1-lan1", {"gateway": "10.1.0.9"}, "invalid", "gateway", "is 10.1.0.1, the first address"),
        ("c1-lan1", {"prefix": "10.1.0.0"}, "invalid", "prefix", "not a prefix in CIDR form"),
        ("c1-lan1", {"prefix": "192.0.2.0/24"}, "conflict", "prefix", "contains 192.0.2.1, the VTEP"),
        ("c1-lan1", {"prefix": "10.2.0.0/16"}, "conflict", "endpoint", "overlaps 10.2.0.0/24 of c2-lan1"),
        ("c1-lan1", {"prefix6": "2001:db8::/48"}, "invalid", "prefix6", "larger than a /64"),
        ("c1-lan1", {"prefix6": "2001:db8::/64", "mtu": 1200}, "invalid", "mtu", "IPv6 needs 1280"),
        ("c1-lan1", {"vni": 7}, "invalid", "vni", "is a VPLS PE"),
        ("c7-lan1", {"mtu": 1300}, "missing", None, "no endpoint 'c7-lan1'"),
        ("c1", {"vtep": "192.0.2.2"}, "conflict", "vtep", "is the VTEP of cloudlet c2"),
        ("c1", {"vtep": "10.2.0.7"}, "conflict", "vtep", "inside 10.2.0.0/24, the LAN of c2-lan1"),
        ("c1", {"vtep": SERVER}, "conflict", "vtep", "address of route server rs1"),
        ("c1", {"vtep": "224.0.0.1"}, "invalid", "vtep", "not an address that a host can have"),
        ("c1", {"vtep": "here"}, "invalid", "vtep", "not an IPv4 address"),
        ("c1", {"asn": 64900}, "invalid", "asn", "only an unmanaged PE has its own"),
        ("c1", {"ttl_security": 1}, "invalid", "ttl_security", "only an unmanaged PE has its own"),
        ("c9", {"asn": 23456}, "invalid", "asn", "stands for AS numbers of four octets"),
        ("c1", {"latitude": 1.0}, "invalid", "longitude", "both latitude and longitude"),
        ("c1", {"labels": {f"k{n}": "v" for n in range(65)}}, "invalid", "labels", "would have 65 labels"),
    ],
)
def test_a_wrong_value_is_refused_at_its_field(
    name: str, fields: dict[str, Any], kind: str, field: str | None, why: str
) -> None:
    found = refused(region(), name, **fields)
    assert (found.kind, found.field) == (kind, field) and why in found.message


def test_cloudlets_that_do_not_exist() -> None:
    with pytest.raises(Refused, match="no cloudlet 'c7'"):
        alter_cloudlet(region(), "c7", {"labels": {}})


def test_an_unmanaged_pe_has_another_session() -> None:
    after = alter_cloudlet(region(), "c9", {"asn": 64901, "ttl_security": 2}).cloudlets["c9"]
    assert (after.asn, after.ttl_security) == (64901, 2)
    assert alter_cloudlet(region(), "c9", {"asn": None}).cloudlets["c9"].asn is None


def test_the_host_of_a_route_server_stays_at_its_address() -> None:
    intent = edits.add_cloudlet(region(), Cloudlet("rs1", Flavour.VPLS, SERVER), [SERVER])
    assert "is the host of a route server" in refused(intent, "rs1", vtep="192.0.2.50").message
    moved = replace(region(), route_servers={"c1": "192.0.2.77"})
    assert "whose host has no endpoints" in refused(moved, "c1", vtep="192.0.2.77").message


def test_a_vtep_is_taken_over_when_it_is_free() -> None:
    fields = {"c1": {"vtep": "192.0.2.2"}, "c2": {"vtep": "192.0.2.3"}, "c3": {"vtep": "192.0.2.33"}}
    before = region()
    after = alter_cloudlets(before, fields, [SERVER])
    assert [after.cloudlets[f"c{n}"].vtep for n in (1, 2, 3)] == ["192.0.2.2", "192.0.2.3", "192.0.2.33"]
    peers = [op.peer.name for op in operations(before, after, 65000) if isinstance(op, SetPeer)]
    assert peers == ["c3", "c2", "c1"], "a route server gives no address to two"
    assert [op.peer.name for op in operations(after, before, 65000) if isinstance(op, SetPeer)] == ["c1", "c2", "c3"]
    with pytest.raises(Refused, match="is the VTEP of cloudlet"):
        alter_cloudlets(before, {"c1": {"vtep": "192.0.2.2"}, "c2": {"vtep": "192.0.2.1"}})


def test_members_of_a_pool_change_their_vni_together() -> None:
    intent = region(Flavour.EVPN, 2)
    assert "all members of an EVPN pool have the same" in refused(intent, "c1-lan1", vni=7).message
    after = alter_endpoints(intent, {"c1-lan1": {"vni": 7}, "c2-lan1": {"vni": 7}})
    assert {after.endpoints[f"c{n}-lan1"].vni for n in (1, 2)} == {7}
    assert alter_endpoint(after, "c9-lan1", {"vni": None}).endpoints["c9-lan1"].vni == 10000


def test_endpoints_of_a_cloudlet_exchange_values() -> None:
    intent = region(Flavour.EVPN, 1)
    intent = edits.add_endpoint(intent, lan(1, 2, "10.11.0.0/24", vni=7), [SERVER])
    assert "has VNI 7" in refused(intent, "c1-lan1", vni=7).message
    assert "which c1 routes to" in refused(intent, "c1-lan1", prefix="10.11.0.0/25").message
    fields = {"c1-lan1": {"vni": 7, "prefix": "10.11.0.0/24"}, "c1-lan2": {"vni": 10000, "prefix": "10.1.0.0/24"}}
    after = alter_endpoints(intent, fields, [SERVER])
    assert [after.endpoints[f"c1-lan{n}"].vni for n in (1, 2)] == [7, 10000]


def rules(**tenants: Tenant) -> Rules:
    return Rules(tenants=tenants)


def test_another_tenant_consents_anew_and_leaves_pools_that_are_not_its_own() -> None:
    asked = Tenant("acme", consent=True)
    intent = region().but(policy=rules(acme=asked, corp=Tenant("corp", vcps=frozenset({"red"}), consent=False)))
    given = intent.with_endpoint(replace(intent.endpoints["c1-lan1"], tenant="acme", consented_by="ana"))
    after = alter_endpoint(given, "c1-lan1", {"tenant": "corp"})
    assert after.endpoints["c1-lan1"].consented_by is None
    assert after.vcps["blue"].members == {"c2-lan1", "c3-lan1"}, "corp may not be in blue"
    held = alter_endpoint(intent, "c1-lan1", {"tenant": "acme"})
    assert held.held("c1-lan1") and "c1-lan1" not in held.vcps["blue"].members
    again = alter_endpoint(given, "c1-lan1", {"mtu": 1300})
    assert again.endpoints["c1-lan1"].consented_by == "ana"
    elsewhere = rules(acme=Tenant("acme", cloudlets=frozenset({"c2"})))
    found = refused(region().but(policy=elsewhere), "c1-lan1", tenant="acme")
    assert (found.kind, found.field) == ("conflict", "tenant")
    assert "knows no tenant 'acmee'" in refused(intent, "c1-lan1", tenant="acmee").message


def test_the_policy_places_an_endpoint_of_another_tenant() -> None:
    wanted = PolicyVcp("green", select={"tenant": frozenset({"corp"})})
    intent = edits.add_vcp(region(), Vcp("green", managed_by_policy=True))
    intent = intent.but(policy=Rules(vcps={"green": wanted}))
    after = followed(intent, alter_endpoint(intent, "c1-lan1", {"tenant": "corp"}), {}).intent
    assert after.vcps["green"].members == {"c1-lan1"}
    back = followed(after, alter_endpoint(after, "c1-lan1", {"tenant": None}), {}).intent
    assert not back.vcps["green"].members


def test_alterations_are_described() -> None:
    was = region().endpoints["c1-lan1"]
    now = replace(was, mtu=1300, ports=("eth1", "md*"), tenant="acme")
    assert described(was, now) == "ports none → eth1 md*, mtu 1450 → 1300, tenant none → acme"
    cloudlet = region().cloudlets["c1"]
    assert described(cloudlet, replace(cloudlet, labels={"b": "2", "a": "1"})) == "labels none → a=1 b=2"
    assert described(cloudlet, cloudlet) == ""
