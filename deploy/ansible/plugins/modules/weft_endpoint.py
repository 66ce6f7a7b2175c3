#!/usr/bin/python
"""The module `weft_endpoint`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weft_endpoint
short_description: An endpoint, a LAN of a cloudlet, in a Weft region
description:
  - Makes, changes and removes endpoints. Options that are not given stay as they are.
  - Removing an endpoint takes it out of its pools and ends its leases.
version_added: 0.1.0
options:
  name:
    description: Its name.
    type: str
    required: true
  state:
    description: Whether it is there.
    type: str
    choices: [present, absent]
    default: present
  cloudlet:
    description: The cloudlet whose LAN it is. Needed for a new one; it cannot change.
    type: str
  prefix:
    description: Its IPv4 prefix. Needed for a new one; it can change while no lease depends on it.
    type: str
  prefix6:
    description: Its IPv6 prefix; an empty one removes it.
    type: str
  ports:
    description: Its access ports, interfaces of the cloudlet, shell patterns of them, or VLANs such as C(eth1.100).
    type: list
    elements: str
  vni:
    description: VNI of an EVPN endpoint.
    type: int
  mtu:
    description: In bytes.
    type: int
  lease_seconds:
    description: Lease time, if the policy says none.
    type: int
  max_routes:
    description: With more routes than this, all of them are in quarantine; 0 means no limit.
    type: int
  tenant:
    description: Its owner; an empty one means none.
    type: str
extends_documentation_fragment: weft.weft.connection
author: The Weft maintainers
"""

EXAMPLES = r"""
- name: The LAN of turin
  weft.weft.weft_endpoint:
    name: turin-lan
    cloudlet: turin
    prefix: 10.1.0.0/24
    ports: ['md*', 'vm*']
"""

RETURN = r"""
endpoint:
  description: The endpoint as it is now; in check mode, as it is still.
  returned: when it is there
  type: dict
change:
  description: The effect of the change, such as C(generation), C(in_force) and C(interrupted).
  returned: for a change or removal
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.weft.weft.plugins.module_utils.declaration import Declaration, given
from ansible_collections.weft.weft.plugins.module_utils.rest_client import OPTIONS, RestClient


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "cloudlet": {"type": "str"},
            "prefix": {"type": "str"},
            "prefix6": {"type": "str"},
            "ports": {"type": "list", "elements": "str"},
            "vni": {"type": "int"},
            "mtu": {"type": "int"},
            "lease_seconds": {"type": "int"},
            "max_routes": {"type": "int"},
            "tenant": {"type": "str"},
        },
        supports_check_mode=True,
    )
    names = ("cloudlet", "prefix", "prefix6", "ports", "vni", "mtu", "lease_seconds", "max_routes", "tenant")
    fields = given(module.params, *names, none=("prefix6", "max_routes", "tenant"))
    Declaration(module, RestClient(module), "endpoints", "endpoint", fields, rehearses=True).run()


if __name__ == "__main__":
    main()
