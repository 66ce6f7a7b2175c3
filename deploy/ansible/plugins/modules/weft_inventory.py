#!/usr/bin/python
"""The module `weft_inventory`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weft_inventory
short_description: The inventory of a Weft region
description:
  - Plans an inventory and applies it exactly as planned, or not at all. In check mode it is planned alone.
  - Objects that the inventory before named and this one does not are removed, so there is no state.
  - The same text again changes nothing, unless the region has drifted from it, which is mended.
version_added: 0.1.0
options:
  src:
    description: The file of the inventory, on the host where the module runs.
    type: path
  content:
    description: The text of the inventory itself, in place of O(src).
    type: str
  allow_disconnect:
    description: Whether devices may be cut off from their running VMs.
    type: bool
    default: false
  tokens_to:
    description:
      - A directory, made if need be, for new files C(CLOUDLET.token) with the one-time tokens of new cloudlets,
        readable by their owner alone. Tokens are never returned.
      - Without it, C(weft cloudlet token) makes tokens later.
    type: path
  token_seconds:
    description: How long new tokens are good for.
    type: int
    default: 3600
extends_documentation_fragment: weft.weft.connection
author: The Weft maintainers
"""

EXAMPLES = r"""
- name: The region is as the file says
  weft.weft.weft_inventory:
    src: /etc/weft/inventory.yaml
    tokens_to: /root/tokens
"""

RETURN = r"""
plan:
  description: The C(steps), and how many objects are C(adopted) and C(untouched).
  returned: success
  type: dict
revision:
  description: The revision in force.
  returned: success
  type: int
tokens_of:
  description: The cloudlets whose tokens are in O(tokens_to).
  returned: if it was applied
  type: list
  elements: str
change:
  description: The effect, such as C(generation) and C(in_force).
  returned: if it was applied
  type: dict
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.weft.weft.plugins.module_utils.applied_text import OPTIONS as OF_TEXTS
from ansible_collections.weft.weft.plugins.module_utils.applied_text import AppliedText
from ansible_collections.weft.weft.plugins.module_utils.new_secret import NewSecrets
from ansible_collections.weft.weft.plugins.module_utils.rest_client import OPTIONS


def _files(module: AnsibleModule, plan: dict[str, Any]) -> dict[str, Path]:
    """Return the files for the tokens of new cloudlets that have an agent."""
    to = module.params["tokens_to"]
    new = [step for step in plan["steps"] if step["action"] == "create" and step["section"] == "cloudlets"]
    if to is None or not new:
        return {}
    try:
        Path(to).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        module.fail_json(msg=f"tokens_to: cannot make {to}: {error.strerror}")
    names = [str(step["name"]) for step in new if "unmanaged" not in [one["field"] for one in step["fields"]]]
    return {name: Path(to) / f"{name}.token" for name in names}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            **OF_TEXTS,
            "tokens_to": {"type": "path", "no_log": False},
            "token_seconds": {"type": "int", "default": 3600, "no_log": False},
        },
        required_one_of=[("src", "content")],
        mutually_exclusive=[("src", "content")],
        supports_check_mode=True,
    )
    inventory = AppliedText(module, "inventory")
    found = inventory.plan()
    changed = inventory.differs(found, bool(found["plan"]["steps"]))
    if not changed or module.check_mode:
        inventory.end(found, None, changed)
        return
    with NewSecrets(module, "tokens_to", _files(module, found["plan"])) as secrets:
        answer = inventory.apply(found, token_seconds=module.params["token_seconds"])
        tokens = answer.get("tokens") or {}
        written = secrets.write(tokens)
        if left := sorted(tokens.keys() - set(written)):
            module.warn(f"tokens of {', '.join(left)} are not kept: `weft cloudlet token` makes others, or tokens_to")
        inventory.end(found, answer, changed, tokens_of=written)


if __name__ == "__main__":
    main()
