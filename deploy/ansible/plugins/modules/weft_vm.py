#!/usr/bin/python
"""The module `weft_vm`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weft_vm
short_description: A registered VM of a Weft region
description:
  - Registers, changes and removes VMs. Options that are not given stay as they are.
  - It neither starts nor moves VMs, as people and moves do that meanwhile. Only a VM that does not run can change.
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
  device:
    description: The registered device that it works for. Needed for a new one; it cannot change.
    type: str
  endpoint:
    description: The LAN at which a new one is added. Moves take it elsewhere, which is no difference.
    type: str
  driver:
    description: The hypervisor of a new one; it cannot change. C(qemu) by default.
    type: str
  image:
    description: Its boot image. Needed for a new one; it cannot change.
    type: str
  memory:
    description: Its memory in bytes, or a size such as C(512M), in powers of 1024. Needed for a new one.
    type: str
  vcpus:
    description: Its processors.
    type: int
  cpu:
    description: C(policy), C(baseline), C(host), C(max), or a model.
    type: str
  macs:
    description: MACs of its two vNICs. They cannot change; a new one without gets them from its name.
    type: list
    elements: str
  disk:
    description: Its disk. It cannot change.
    type: dict
    suboptions:
      base:
        description: The image that it begins with.
        type: str
        required: true
      bytes:
        description: Its size in bytes, or a size such as C(2G).
        type: str
        required: true
  options:
    description: All the driver's own options; those that are not here are removed.
    type: dict
  check:
    description: Tells whether its service answers, C(tcp:PORT) or C(http:PORT/PATH); an empty one removes it.
    type: str
  handover:
    description: Path of a program in it that brings its state where it starts anew; an empty one removes it.
    type: str
extends_documentation_fragment: weft.weft.connection
author: The Weft maintainers
"""

EXAMPLES = r"""
- name: The VM of the till
  weft.weft.weft_vm:
    name: web
    device: till
    endpoint: turin-lan
    image: debian
    memory: 512M
"""

RETURN = r"""
vm:
  description: The VM as it is now; in check mode, as it is still.
  returned: when it is there
  type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.weft.weft.plugins.module_utils.declaration import Declaration, given, merging, size
from ansible_collections.weft.weft.plugins.module_utils.rest_client import OPTIONS, RestClient


def _patch(present: dict[str, Any], differing: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a change: an empty text removes a program, and options are merged."""
    body = {key: "" if value is None else value for key, value in differing.items()}
    return {**body, "options": merging(present["options"], body["options"])} if "options" in body else body


def main() -> None:
    """Run the module."""
    disk = {"base": {"type": "str", "required": True}, "bytes": {"type": "str", "required": True}}
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "device": {"type": "str"},
            "endpoint": {"type": "str"},
            "driver": {"type": "str"},
            "image": {"type": "str"},
            "memory": {"type": "str"},
            "vcpus": {"type": "int"},
            "cpu": {"type": "str"},
            "macs": {"type": "list", "elements": "str"},
            "disk": {"type": "dict", "options": disk},
            "options": {"type": "dict"},
            "check": {"type": "str"},
            "handover": {"type": "str"},
        },
        supports_check_mode=True,
    )
    names = ("device", "driver", "image", "memory", "vcpus", "cpu", "macs", "disk", "options", "check", "handover")
    fields = given(module.params, *names, none=("check", "handover"))
    if "memory" in fields:
        fields["memory"] = size(module, "memory", fields["memory"])
    if "disk" in fields:
        fields["disk"] = {"base": fields["disk"]["base"], "bytes": size(module, "disk.bytes", fields["disk"]["bytes"])}
    if "options" in fields:
        fields["options"] = {key: str(value) for key, value in fields["options"].items()}
    new = given(module.params, "endpoint") | ({} if "driver" in fields else {"driver": "qemu"})
    Declaration(module, RestClient(module), "vms", "vm", fields, new, _patch).run()


if __name__ == "__main__":
    main()
