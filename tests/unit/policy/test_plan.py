"""A plan leads from any inventory to what the policy says, once, and touches nothing else."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.policy import (
    Inventory,
    InventoryVcp,
    Plan,
    Policy,
    PolicyInvalid,
    parse,
    plan,
)
from controller.wire.flavours import Flavour

VPLS, EVPN = Flavour.VPLS, Flavour.EVPN
ENDPOINTS = {f"v{n}": VPLS for n in range(5)} | {f"e{n}": EVPN for n in range(5)}
POOLS = {"blue": VPLS, "red": VPLS, "green": VPLS, "fair": EVPN, "show": EVPN}


def members(flavour: Flavour) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from([n for n, e in ENDPOINTS.items() if e is flavour]))


def written(pools: dict[str, tuple[frozenset[str], str]]) -> Policy:
    vcps = {
        name: {"flavour": POOLS[name], "members": sorted(who), "description": text}
        for name, (who, text) in pools.items()
    }
    return parse(json.dumps({"apiVersion": "weft/v1", "vcps": vcps}), "p.yaml")


texts = st.sampled_from(["", "one", "two"])
policies = st.fixed_dictionaries(
    {}, optional={name: st.tuples(members(flavour), texts) for name, flavour in POOLS.items()}
).map(written)
inventories = st.fixed_dictionaries(
    {},
    optional={
        name: st.builds(InventoryVcp, st.just(flavour), members(flavour), st.booleans(), texts)
        for name, flavour in POOLS.items()
    },
).map(lambda vcps: Inventory(ENDPOINTS, vcps))


def applied(steps: Plan, inventory: Inventory) -> Inventory:
    """What the steps lead to, done one by one."""
    vcps = {name: vcp for name, vcp in inventory.vcps.items() if name not in steps.delete}
    for made in steps.create:
        assert made.name not in vcps
        vcps[made.name] = InventoryVcp(made.flavour, frozenset(), True, made.description)
    for name in steps.adopt:
        assert not vcps[name].managed_by_policy
        vcps[name] = replace(vcps[name], managed_by_policy=True)
    for name, description in steps.describe:
        vcps[name] = replace(vcps[name], description=description)
    for name, endpoint in steps.leave:
        assert endpoint in vcps[name].members
        vcps[name] = replace(vcps[name], members=vcps[name].members - {endpoint})
    for name, endpoint in steps.join:
        assert endpoint not in vcps[name].members
        vcps[name] = replace(vcps[name], members=vcps[name].members | {endpoint})
    return Inventory(inventory.endpoints, vcps)


@given(policies, inventories)
def test_applying_the_plan_gives_what_the_policy_says(policy: Policy, inventory: Inventory) -> None:
    after = applied(plan(policy, inventory), inventory).vcps
    by_policy = {
        name: (vcp.flavour, vcp.members, vcp.description) for name, vcp in after.items() if vcp.managed_by_policy
    }
    assert by_policy == {vcp.name: (vcp.flavour, frozenset(vcp.members), vcp.description) for vcp in policy.vcps}


@given(policies, inventories)
def test_pools_made_over_rest_stay_as_they_are(policy: Policy, inventory: Inventory) -> None:
    after = applied(plan(policy, inventory), inventory).vcps
    named = {vcp.name for vcp in policy.vcps}
    for name, vcp in inventory.vcps.items():
        if not vcp.managed_by_policy and name not in named:
            assert after[name] == vcp


@given(policies, inventories)
def test_what_is_applied_plans_to_nothing(policy: Policy, inventory: Inventory) -> None:
    again = plan(policy, applied(plan(policy, inventory), inventory))
    assert again.empty and again == Plan()


@given(policies, inventories)
def test_plans_are_sorted(policy: Policy, inventory: Inventory) -> None:
    steps = plan(policy, inventory)
    assert [vcp.name for vcp in steps.create] == sorted(vcp.name for vcp in steps.create)
    assert steps.adopt == tuple(sorted(steps.adopt)) and steps.delete == tuple(sorted(steps.delete))
    for pairs in (steps.describe, steps.join, steps.leave):
        assert pairs == tuple(sorted(pairs))


def test_names_and_flavours_that_are_wrong_have_their_places() -> None:
    policy = parse(
        "apiVersion: weft/v1\nvcps:\n  blue:\n    members: [v0, v9, e1]\n  fair:\n    members:\n      - c1-lan\n",
        "p.yaml",
    )
    inventory = Inventory(ENDPOINTS | {"c1-lam": VPLS}, {"fair": InventoryVcp(EVPN)})
    with pytest.raises(PolicyInvalid) as raised:
        plan(policy, inventory)
    assert [str(error) for error in raised.value.errors] == [
        "p.yaml:4:19: there is no endpoint 'v9'",
        "p.yaml:4:23: endpoint 'e1' is evpn, and VCP 'blue' is vpls",
        "p.yaml:5:3: VCP 'fair' is evpn and cannot become vpls: delete it first",
        "p.yaml:7:9: there is no endpoint 'c1-lan': did you mean 'c1-lam'?",
    ]
    assert [error.field for error in raised.value.errors] == [
        "vcps.blue.members[1]",
        "vcps.blue.members[2]",
        "vcps.fair",
        "vcps.fair.members[0]",
    ]
