"""The comparison of the policy in force with the intent."""

from dataclasses import dataclass

from controller.core.doctor.difference import Difference
from controller.core.doctor.kinds import DifferenceKind
from controller.core.plans import Plan


@dataclass(frozen=True)
class InForce:
    """A revision of the policy, the changes that applying it anew would make, and the errors that it has by now. An
    endpoint that a selector chooses and that does not fit causes a warning, and no difference."""

    revision: int
    plan: Plan
    wrong: tuple[str, ...] = ()


def compare_policy(policy: InForce) -> list[Difference]:
    """Return the differences: steps that applying the policy anew would take, errors, and members that it names and
    that cannot be in their pool."""
    where = f"policy revision {policy.revision}"
    found = [
        Difference(DifferenceKind.POLICY_INVALID, where, "policy", "a policy that holds", "one that does not", wrong)
        for wrong in policy.wrong
    ]

    def drifted(vcp: str, expected: str, is_: str, text: str) -> None:
        found.append(
            Difference(
                DifferenceKind.POLICY_DRIFT, where, f"VCP {vcp}", expected, is_, f"{text}; weft policy drift says more"
            )
        )

    for vcp in policy.plan.create:
        drifted(vcp.name, "there", "not there", f"the policy wants a VCP {vcp.name}, and there is none")
    for name in policy.plan.delete:
        drifted(name, "not there", "there", f"the policy does not know VCP {name}, which a policy made")
    for name in policy.plan.adopt:
        drifted(name, "under the policy", "made by hand", f"VCP {name} was made by hand, and the policy has it as well")
    for name, _ in policy.plan.describe:
        drifted(name, "the policy's description", "another", f"VCP {name} is described otherwise")
    for name, endpoint in policy.plan.join:
        drifted(name, f"member {endpoint}", "not a member", f"{endpoint} is not in {name}, where the policy wants it")
    for name, endpoint in policy.plan.leave:
        drifted(name, f"without {endpoint}", "a member", f"{endpoint} is in {name}, where the policy does not want it")
    for one in policy.plan.out:
        if one.named:
            drifted(
                one.vcp, f"member {one.endpoint}", "not a member", f"{one.endpoint} cannot be in {one.vcp}: {one.why}"
            )
    return found
