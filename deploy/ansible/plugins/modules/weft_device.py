#!/usr/bin/python
"""The module `weft_device`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weft_device
short_description: A registered device of a Weft region
description:
  - Registers, changes and forgets devices. Options that are not given stay as they are.
  - A device that came without registration is registered. Only one without leases and without a VM can be forgotten.
version_added: 0.1.0
options:
  name:
    description: Its name.
    type: str
    required: true
  state:
    description: Whether it is registered.
    type: str
    choices: [present, absent]
    default: present
  mac:
    description: Its MAC, in any form that vendors write; an empty one removes it.
    type: str
  client_id:
    description: Its DHCP option 61 as lower-case hex; an empty one removes it.
    type: str
  vm:
    description:
      - How DHCP knows the machine that works for it; empty for none. A VM of Weft's is known without this.
    type: dict
    suboptions:
      mac:
        description: The machine's MAC.
        type: str
      client_id:
        description: The machine's DHCP option 61 as lower-case hex.
        type: str
extends_documentation_fragment: weft.weft.connection
author: The Weft maintainers
"""

EXAMPLES = r"""
- name: The till is known by its MAC
  weft.weft.weft_device:
    name: till
    mac: 02-00-5E-00-00-01
"""

RETURN = r"""
device:
  description: The device as it is now; in check mode, as it is still.
  returned: when it is there
  type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.weft.weft.plugins.module_utils.declaration import Declaration, given
from ansible_collections.weft.weft.plugins.module_utils.rest_client import OPTIONS, RestClient


def main() -> None:
    """Run the module."""
    client = {"mac": {"type": "str"}, "client_id": {"type": "str"}}
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            **client,
            "vm": {"type": "dict", "options": client},
        },
        supports_check_mode=True,
    )
    fields = given(module.params, "mac", "client_id", none=("mac", "client_id"))
    if module.params["vm"] is not None:
        vm = {key: value or None for key, value in module.params["vm"].items()}
        fields["vm"] = vm if any(vm.values()) else None
    rest = RestClient(module)
    present = rest.find("devices", module.params["name"])[0]
    if present is not None and present["implicit"]:
        fields["implicit"] = False

    def patch(_present: dict[str, Any], differing: dict[str, Any]) -> dict[str, Any]:
        """Return the new identities. Any change registers a device; one without differences says its identity again."""
        differing = {key: value for key, value in differing.items() if key != "implicit"}
        return differing or {key: _present[key] for key in ("mac", "client_id")}

    Declaration(module, rest, "devices", "device", fields, patch=patch).run()


if __name__ == "__main__":
    main()
