"""Policy, as operators write it in `policies/*.yaml`.

`parse` reads text and reports every error it finds, each with its place in the file. `controller.core.policies` applies
a policy to a region."""

from controller.core.policy.errors import PolicyInvalid
from controller.core.policy.model import PolicyVcp, Rules
from controller.core.policy.parse import parse
from controller.core.policy.policy import Policy

__all__ = [
    "Policy",
    "PolicyInvalid",
    "PolicyVcp",
    "Rules",
    "parse",
]
