"""Policy, first form: which pools there are and who is in them, as operators write it in `policies/*.yaml`.

`parse` reads text, `plan` compares a policy with what is and says what would change. Both are pure and both report
every error they find, each with its place in the file.
"""

from controller.core.policy.errors import PolicyError, PolicyInvalid
from controller.core.policy.form import Policy, PolicyVcp, parse
from controller.core.policy.plan import Inventory, InventoryVcp, Plan, plan

__all__ = [
    "Inventory",
    "InventoryVcp",
    "Plan",
    "Policy",
    "PolicyError",
    "PolicyInvalid",
    "PolicyVcp",
    "parse",
    "plan",
]
