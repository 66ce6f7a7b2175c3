"""The steps of an inventory, and the intent that follows from them."""

from typing import Any

import pytest

from controller.core import inventories
from controller.core.intent import Intent, Vcp
from controller.core.inventories import Action, InventoryPlan
from controller.core.inventory import Objects, named
from tests.unit.inventory.texts import HEAD, REGION, read

SPEAKERS, ASN = ["192.0.2.250"], 64512


def region(text: str = REGION) -> tuple[Intent, Objects]:
    """Return an intent as an inventory makes it, and its objects."""
    inventory = read(text)
    intent, wrong = inventories.follow(inventory, inventories.plan(inventory, {}), Intent(), SPEAKERS, ASN)
    assert wrong == []
    return intent, inventory.objects


def said(plan: InventoryPlan) -> list[str]:
    """Return the steps in words."""
    return [
        " ".join([step.action, step.section, step.name, *(str(one) for one in step.differences)]) for step in plan.steps
    ]


def follow(text: str, former: Any = None) -> tuple[Intent, list[str]]:
    """Return what follows from another inventory in the region, and the errors with their places."""
    intent, objects = region()
    inventory = read(text)
    plan = inventories.plan(inventory, objects, former or {})
    after, wrong = inventories.follow(inventory, plan, intent, SPEAKERS, ASN)
    return after, [str(error) for error in wrong]


def test_everything_is_made_in_a_region_without_objects() -> None:
    plan = inventories.plan(read(REGION), {})
    assert [(step.action, step.section, step.name) for step in plan.steps] == [
        ("create", "cloudlets", "c1"), ("create", "cloudlets", "c2"), ("create", "endpoints", "c1-lan"),
        ("create", "endpoints", "c2-lan"), ("create", "devices", "m1"), ("create", "vms", "web"),
    ]  # fmt: skip
    assert said(plan)[0] == "create cloudlets c1 pe none → vpls vtep none → 192.0.2.1"
    intent, _ = region()
    assert (intent.endpoints["c1-lan"].site, intent.endpoints["c1-lan"].gateway) == (1, "10.1.0.1")
    assert intent.endpoints["c2-lan"].vni == 10000


def test_the_same_again_is_no_step() -> None:
    _, objects = region()
    plan = inventories.plan(read(REGION), objects, named(objects))
    assert plan == InventoryPlan()


def test_fields_that_differ_are_named() -> None:
    _, objects = region()
    text = REGION.replace("vtep: 192.0.2.1}", "vtep: 192.0.2.9, labels: {city: milan}}").replace(", vni: 10000", "")
    plan = inventories.plan(read(text.replace("512M", "1G").replace(":01'", ":02'")), objects, named(objects))
    assert said(plan) == [
        "change cloudlets c1 vtep 192.0.2.1 → 192.0.2.9 labels none → city=milan",
        "change devices m1 mac 02:00:5e:00:00:01 → 02:00:5e:00:00:02",
        "change vms web memory 536870912 → 1073741824",
    ], "a VNI that is left out is the default"


def test_what_is_gone_from_the_inventory_is_removed_and_others_stay() -> None:
    _, objects = region()
    text = f"{HEAD}cloudlets:\n  c2: {{pe: evpn, vtep: 192.0.2.2, labels: {{city: turin}}}}\n"
    former = {"cloudlets": ["c1", "c2"], "endpoints": ["c1-lan"], "vms": ["web", "gone-already"]}
    plan = inventories.plan(read(text), objects, former)
    assert said(plan) == ["remove vms web", "remove endpoints c1-lan", "remove cloudlets c1"]
    assert plan.untouched == {"endpoints": 1, "devices": 1} and plan.adopted == {}
    first = inventories.plan(read(text), objects)
    assert first.steps == () and first.adopted == {"cloudlets": 1}
    assert first.untouched == {"cloudlets": 1, "endpoints": 2, "devices": 1, "vms": 1}


def test_a_move_of_a_vm_is_no_difference() -> None:
    _, objects = region()
    moved = {**objects, "vms": {"web": {**objects["vms"]["web"], "endpoint": "c2-lan"}}}
    plan = inventories.plan(read(REGION), moved, named(objects))
    assert plan.steps == ()
    assert [str(warning) for warning in plan.warnings] == [
        "i.yaml:11:31: web is at c2-lan by now: an inventory moves no VM"
    ]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("pe: vpls", "pe: evpn", "i.yaml:3:12: it is vpls and cannot be changed: its endpoints have the same flavour"),
        ("cloudlet: c1,", "cloudlet: c2,", "i.yaml:6:22: it is c1 and cannot be changed: a LAN stays where it is"),
        ("image: debian", "image: other", "i.yaml:11:46: it is debian and cannot be changed: its disk was made with"),
        (
            "memory: 512M",
            "memory: 512M, disk: {base: d, bytes: 1G}",
            "i.yaml:11:68: it is none and cannot be changed: what the VM has written differs",
        ),
    ],
)
def test_some_fields_cannot_change(old: str, new: str, error: str) -> None:
    _, objects = region()
    inventory = read(REGION.replace(old, new))
    wrong = inventories.fixed(inventory, inventories.plan(inventory, objects))
    assert len(wrong) == 1 and str(wrong[0]).startswith(error), wrong


def test_a_fixed_field_that_is_left_out_is_shown_at_the_object() -> None:
    _, objects = region(REGION.replace("pe: evpn, ", "pe: evpn, unmanaged: true, "))
    inventory = read(REGION)
    (wrong,) = inventories.fixed(inventory, inventories.plan(inventory, objects))
    assert str(wrong) == (
        "i.yaml:4:3: cloudlet c2: it is true and cannot be changed: remove the cloudlet, and add it anew"
    )


def test_alterations_follow() -> None:
    text = REGION.replace("prefix: 10.1.0.0/24}", "prefix: 10.7.0.0/24, mtu: 1400, ports: [eth1]}")
    after, wrong = follow(text.replace("vtep: 192.0.2.1}", "vtep: 192.0.2.9}"))
    assert wrong == []
    lan = after.endpoints["c1-lan"]
    assert (lan.prefix, lan.gateway, lan.mtu, lan.ports, lan.site) == ("10.7.0.0/24", "10.7.0.1", 1400, ("eth1",), 1)
    assert after.cloudlets["c1"].vtep == "192.0.2.9"


def test_one_inventory_may_hand_a_value_on() -> None:
    text = REGION.replace("vtep: 192.0.2.1}", "vtep: 192.0.2.3}").replace(
        "endpoints:\n", "  c3: {pe: vpls, vtep: 192.0.2.1}\nendpoints:\n"
    )
    after, wrong = follow(text)
    assert wrong == [] and after.cloudlets["c3"].vtep == "192.0.2.1"


def test_all_refusals_are_reported_with_their_places() -> None:
    text = (
        REGION.replace("vtep: 192.0.2.1}", "vtep: 192.0.2.250}")
        .replace("vtep: 192.0.2.2,", "vtep: 10.1.0.7,")
        .replace("prefix: 10.2.0.0/24", "prefix: 192.0.2.0/24")
        .replace("devices:", "  c3-lan: {cloudlet: c3, prefix: 10.3.0.0/24}\ndevices:")
    )
    _, wrong = follow(text)
    assert wrong == [
        "i.yaml:3:24: 192.0.2.250 is a route server's address",
        "i.yaml:4:24: 10.1.0.7 is inside 10.1.0.0/24, the LAN of c1-lan",
        "i.yaml:7:34: 192.0.2.0/24 contains 192.0.2.1, the VTEP of cloudlet c1",
        "i.yaml:8:22: there is no cloudlet 'c3'",
    ]


def test_endpoints_of_a_refused_cloudlet_are_not_errors_too() -> None:
    text = REGION.replace("endpoints:\n", "  c3: {pe: vpls, vtep: 192.0.2.250}\nendpoints:\n")
    _, wrong = follow(text.replace("devices:", "  c3-lan: {cloudlet: c3, prefix: 10.3.0.0/24}\ndevices:"))
    assert wrong == ["i.yaml:5:24: 192.0.2.250 is a route server's address"]


def test_a_cloudlet_is_not_removed_with_endpoints_of_others() -> None:
    text = f"{HEAD}cloudlets:\n  c2: {{pe: evpn, vtep: 192.0.2.2, labels: {{city: turin}}}}\n"
    _, wrong = follow(text, {"cloudlets": ["c1", "c2"]})
    assert wrong == ["i.yaml:2:1: cloudlet c1: c1 has endpoints that no inventory named (c1-lan): remove them first"]
    after, wrong = follow(text, {"cloudlets": ["c1", "c2"], "endpoints": ["c1-lan"]})
    assert wrong == [] and "c1" not in after.cloudlets and "c1-lan" not in after.endpoints


def test_a_removed_endpoint_leaves_its_pools() -> None:
    intent, objects = region()
    intent = intent.with_vcp(Vcp("blue", members=frozenset({"c1-lan"})))
    inventory = read(HEAD)
    plan = inventories.plan(inventory, objects, {"cloudlets": ["c1"], "endpoints": ["c1-lan"]})
    assert [step.action for step in plan.steps] == [Action.REMOVE, Action.REMOVE]
    after, wrong = inventories.follow(inventory, plan, intent, SPEAKERS, ASN)
    assert wrong == [] and after.vcps["blue"].members == frozenset()
