#!/usr/bin/python
"""The module `weft_policy`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weft_policy
short_description: The policy of a Weft region
description:
  - Plans a policy and applies it exactly as planned, or not at all. In check mode it is planned alone.
  - The same text again changes nothing, unless the region has drifted from it, which is mended.
  - A region without a policy is one with an empty policy, so there is no state.
version_added: 0.1.0
options:
  src:
    description: The file of the policy, on the host where the module runs.
    type: path
  content:
    description: The text of the policy itself, in place of O(src).
    type: str
  strict:
    description: Whether warnings refuse the policy.
    type: bool
    default: false
  allow_disconnect:
    description: Whether devices may be cut off from their running VMs.
    type: bool
    default: false
extends_documentation_fragment: weft.weft.connection
author: The Weft maintainers
"""

EXAMPLES = r"""
- name: The pools are those of the file
  weft.weft.weft_policy:
    src: /etc/weft/pools.yaml
"""

RETURN = r"""
plan:
  description: The steps, such as C(create), C(join) and C(leave).
  returned: success
  type: dict
revision:
  description: The revision in force.
  returned: success
  type: int
change:
  description: The effect, such as C(generation) and C(in_force).
  returned: if it was applied
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.weft.weft.plugins.module_utils.applied_text import OPTIONS as OF_TEXTS
from ansible_collections.weft.weft.plugins.module_utils.applied_text import AppliedText
from ansible_collections.weft.weft.plugins.module_utils.rest_client import OPTIONS

NO_STEPS = ("waiting", "out")
"""Parts of a plan that are no changes."""


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={**OPTIONS, **OF_TEXTS, "strict": {"type": "bool", "default": False}},
        required_one_of=[("src", "content")],
        mutually_exclusive=[("src", "content")],
        supports_check_mode=True,
    )
    policy = AppliedText(module, "policy")
    strict = module.params["strict"]
    found = policy.plan(strict=strict)
    changed = policy.differs(found, any(steps for kind, steps in found["plan"].items() if kind not in NO_STEPS))
    applies = changed and not module.check_mode
    policy.end(found, policy.apply(found, strict=strict) if applies else None, changed)


if __name__ == "__main__":
    main()
