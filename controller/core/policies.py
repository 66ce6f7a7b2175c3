"""A policy as an edit of the intent: `controller.core.policy` says what would change, this does it."""

from dataclasses import dataclass, replace

from controller.core import edits
from controller.core.intent import Intent, Vcp
from controller.core.policy import Inventory, InventoryVcp, Plan, Policy, PolicyInvalid, plan
from controller.core.refusals import Refused


@dataclass(frozen=True)
class PolicyEdit:
    """The steps, and the intent after them."""

    plan: Plan
    intent: Intent


def inventory(intent: Intent) -> Inventory:
    """What a plan starts from."""
    return Inventory(
        endpoints={e.name: intent.flavour(e.name) for e in intent.endpoints.values()},
        vcps={
            v.name: InventoryVcp(v.flavour, v.members, v.managed_by_policy, v.description) for v in intent.vcps.values()
        },
    )


def apply(intent: Intent, policy: Policy) -> PolicyEdit:
    """The intent under `policy`. Leaves come before joins, so that an endpoint can move between pools whose prefixes
    overlap. Raises PolicyInvalid, with its place, for whatever the plan or a membership refuses."""
    steps = plan(policy, inventory(intent))
    for vcp in steps.delete:
        intent = intent.without_vcp(vcp)
    for vcp, endpoint in steps.leave:
        intent = intent.without_member(vcp, endpoint)
    for made in steps.create:
        intent = intent.with_vcp(Vcp(made.name, made.flavour, made.description, managed_by_policy=True))
    for vcp in steps.adopt:
        intent = intent.with_vcp(replace(intent.vcps[vcp], managed_by_policy=True))
    for vcp, description in steps.describe:
        intent = intent.with_vcp(replace(intent.vcps[vcp], description=description))
    errors = []
    for vcp, endpoint in steps.join:
        try:
            intent = edits.join(intent, vcp, endpoint)
        except Refused as refused:
            members = next(v.members for v in policy.vcps if v.name == vcp)
            errors.append(policy.error(("vcps", vcp, "members", members.index(endpoint)), refused.message))
    if errors:
        raise PolicyInvalid(errors)
    return PolicyEdit(steps, intent)
