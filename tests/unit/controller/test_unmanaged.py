"""Cloudlets whose PE has no agent: they take part at once, with an AS number of their own if they have one, and nobody
waits for an agent."""

from dataclasses import replace

import pytest

from controller.core import edits
from controller.core.intent import Cloudlet, CloudletState, Intent, Vcp
from controller.core.refusals import Refused
from controller.core.rulesets import apply, operations, rule_set
from controller.wire.flavours import Flavour
from controller.wire.rulesets import Peer
from tests.unit.controller.conftest import Controller
from tests.unit.controller.moving_town import VM, town
from tests.unit.controller.regions import lan

ASN = 65000
ROUTER = Cloudlet("c9", Flavour.EVPN, "192.0.2.9", unmanaged=True, asn=64900, ttl_security=1)


def with_lan(intent: Intent, cloudlet: Cloudlet, prefix: str) -> Intent:
    name = cloudlet.name.removeprefix("c")
    return edits.add_endpoint(edits.add_cloudlet(intent, cloudlet, []), lan(int(name), 1, prefix), [], ASN)


def test_route_servers_get_its_as_number_and_its_distance_at_once() -> None:
    before = Intent()
    after = with_lan(before, ROUTER, "10.9.0.0/24")
    rules = rule_set(after, ASN)
    assert rules.peers == [Peer(name="c9", address="192.0.2.9", asn=64900, ttl_security=1)]
    permits = rules.endpoints[0].permits
    assert permits is not None and permits.macs == [] and permits.prefixes == ["10.9.0.0/24"]
    assert apply(rule_set(before, ASN), operations(before, after, ASN), 0) == rules
    other = after.with_cloudlet(replace(after.cloudlets["c9"], asn=None, ttl_security=None))
    assert apply(rules, operations(after, other, ASN), 0) == rule_set(other, ASN)
    assert rule_set(other, ASN).peers[0].asn == ASN


def test_its_labels_are_its_own_and_its_pseudowires_are_others() -> None:
    intent = edits.add_vcp(Intent(), Vcp("blue"))
    for number, unmanaged in ((1, False), (2, False), (3, True), (4, True)):
        state = CloudletState.ACTIVE
        cloudlet = Cloudlet(f"c{number}", Flavour.VPLS, f"192.0.2.{number}", state, unmanaged=unmanaged)
        intent = with_lan(intent, cloudlet, f"10.{number}.0.0/24")
    labels = [endpoint.permits and endpoint.permits.labels for endpoint in rule_set(intent, ASN).endpoints]
    assert labels == [(4096, 8192), (4096, 8192), None, None]
    for one, same, other in (("c1", "c2", "c3"), ("c3", "c4", "c1")):
        joined = edits.join(intent, "blue", f"{one}-lan1")
        edits.join(joined, "blue", f"{same}-lan1")
        with pytest.raises(Refused, match="EVPN connects both kinds"):
            edits.join(joined, "blue", f"{other}-lan1")


@pytest.mark.parametrize("flavour", [Flavour.VPNV4, Flavour.VPNV6])
def test_an_ip_vpn_is_of_unmanaged_pes_and_has_no_macs(flavour: Flavour) -> None:
    router = replace(ROUTER, pe=flavour)
    rules = rule_set(with_lan(Intent(), router, "10.9.0.0/24"), ASN)
    [endpoint] = rules.endpoints
    permits = endpoint.permits
    assert endpoint.family == flavour and permits is not None
    assert (permits.macs, permits.max_macs, permits.ve_id, permits.labels) == ([], None, None, None)
    with pytest.raises(Refused, match="agents build LANs"):
        edits.add_cloudlet(Intent(), replace(router, unmanaged=False, asn=None, ttl_security=None), [])
    with pytest.raises(Refused, match="its routes have labels of its own"):
        edits.add_endpoint(edits.add_cloudlet(Intent(), router, []), lan(9, 1, "10.9.0.0/24", vni=7), [], ASN)


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"unmanaged": False}, "asn", "only an unmanaged PE has its own"),
        ({"unmanaged": False, "asn": None}, "ttl_security", "only an unmanaged PE has its own"),
        ({"name": "rs1", "vtep": "192.0.2.200"}, "unmanaged", "rs1 is the host of a route server"),
    ],
)
def test_what_it_cannot_be(changes: dict[str, object], field: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as refused:
        edits.add_cloudlet(Intent(route_servers={"rs1": "192.0.2.200"}), replace(ROUTER, **changes), [])  # type: ignore[arg-type]
    assert refused.value.field == field


def test_where_all_have_to_enrol_it_is_refused() -> None:
    with pytest.raises(Refused, match="WEFT_ENROLLED_ONLY is set"):
        edits.add_cloudlet(Intent(enrolled_only=True), ROUTER, [])


async def test_a_pool_of_both_kinds(controller: Controller) -> None:
    """The join waits for the managed one's agent alone, and names the other."""
    await controller.agent("c1", 1, pe="evpn")
    router = {"name": "r1", "pe": "evpn", "vtep": "192.0.2.9", "unmanaged": True, "asn": 64900, "ttl_security": 3}
    made = await controller.post("/cloudlets", router)
    assert (made["state"], made["token"], made["token_expires_at"]) == ("active", None, None)
    assert {name: made[name] for name in router} == router
    await controller.post("/endpoints", {"name": "r1-lan", "cloudlet": "r1", "prefix": "10.9.0.0/24"})
    await controller.post("/vcps", {"name": "blue", "flavour": "evpn"})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    joined = await controller.post("/vcps/blue/members", {"endpoint": "r1-lan"})
    assert joined["unmanaged"] == ["r1"] and joined["in_force"], joined
    assert [agent["cloudlet"] for agent in joined["agents"]] == ["c1"]
    rehearsed = await controller.http.delete("/api/v1/vcps/blue/members/r1-lan", params={"dry_run": True})
    assert rehearsed.json()["unmanaged"] == ["r1"]
    diagnosis = await controller.get("/doctor")
    assert diagnosis["unmanaged"] == ["r1"] and diagnosis["checked"]["cloudlets"] == 1
    assert not [one for one in diagnosis["differences"] if "agent of r1" in one["where"]]


@pytest.mark.parametrize("flavour", [Flavour.VPNV4, Flavour.VPNV6])
async def test_a_pool_of_ip_vpns(controller: Controller, flavour: Flavour) -> None:
    await controller.post("/vcps", {"name": "routed", "flavour": flavour})
    for number in (8, 9):
        router = {"name": f"r{number}", "pe": flavour, "vtep": f"192.0.2.{number}", "unmanaged": True}
        await controller.post("/cloudlets", router)
        for name in ("lan", "guests"):
            made = {"name": f"r{number}-{name}", "cloudlet": f"r{number}", "prefix": f"10.{number}.{len(name)}.0/24"}
            assert (await controller.post("/endpoints", made))["vni"] is None
        joined = await controller.post("/vcps/routed/members", {"endpoint": f"r{number}-lan"})
        assert joined["in_force"], joined
    assert (await controller.get("/vcps/routed"))["members"] == ["r8-lan", "r9-lan"]


async def test_no_vm_is_there_or_goes_there(controller: Controller) -> None:
    """Its driver would be an agent's."""
    async with town(controller) as made:
        router = {"name": "r1", "pe": "vpls", "vtep": "192.0.2.99", "unmanaged": True}
        await controller.post("/cloudlets", router)
        await controller.post("/endpoints", {"name": "r1-lan", "cloudlet": "r1", "prefix": "10.99.0.0/24"})
        for path, body in (
            ("/vms", VM | {"name": "v2", "endpoint": "r1-lan"}),
            ("/moves", {"vm": "v1", "endpoint": "r1-lan"}),
        ):
            await controller.refused(409, path, body, "endpoint", "r1-lan cannot have a VM: r1 has no agent")
        await controller.refused(
            409, "/moves/initiation", {"vm": "v1", "endpoint": "r1-lan"}, "endpoint", "r1 has no agent"
        )
        found = await controller.get("/moves/prediction", vm="v1", endpoint="r1-lan")
        assert (found["course"], found["reasons"]) == ("stay", ["r1 has no agent"])
        assert made.movers


async def test_what_is_refused(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    router = {"name": "r1", "pe": "vpls", "vtep": "192.0.2.9", "unmanaged": True}
    await controller.refused(422, "/cloudlets", router | {"approval": True}, "approval", "no agent that could wait")
    await controller.refused(422, "/cloudlets", router | {"asn": 0}, "asn", "")
    await controller.refused(422, "/cloudlets", router | {"ttl_security": 256}, "ttl_security", "")
    await controller.post("/cloudlets", router)
    await controller.refused(409, "/cloudlets/r1/token", None, None, "it has no agent that could enrol")
    for name, dialect, status, reason in (
        ("r1", "frr", 422, "frr is not written for vpls"),
        ("r1", "ios", 422, ""),
        ("c1", "junos", 409, "c1 has an agent"),
        ("c7", "junos", 404, "c7"),
    ):
        answer = await controller.http.get(f"/api/v1/cloudlets/{name}/configuration", params={"for": dialect})
        assert answer.status_code == status and reason in answer.json()["detail"], answer.text
    found = await controller.get("/cloudlets/r1/configuration", **{"for": "junos"})
    assert (found["dialect"], found["tested"]) == ("junos", False) and "instance-type vpls" not in found["text"]
