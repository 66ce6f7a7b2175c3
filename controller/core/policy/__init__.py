"""Policy, as operators write it in `policies/*.yaml`.

`parse` reads text and reports every error it finds, each with its place in the file. What a policy makes of a region is
for `controller.core.policies` to say.
"""

from controller.core.policy.errors import PolicyError, PolicyInvalid
from controller.core.policy.model import PolicyVcp, Rules
from controller.core.policy.parse import parse
from controller.core.policy.policy import Policy

__all__ = [
    "Policy",
    "PolicyError",
    "PolicyInvalid",
    "PolicyVcp",
    "Rules",
    "parse",
]
