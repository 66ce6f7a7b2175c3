#!/usr/bin/python
"""The module `weft_cloudlet`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weft_cloudlet
short_description: A cloudlet of a Weft region
description:
  - Invites, changes and removes cloudlets. Options that are not given stay as they are.
  - A new cloudlet whose PE has an agent gets a one-time token for the agent's enrolment. It is written to
    O(token_to), and never returned.
version_added: 0.1.0
options:
  name:
    description: Its name.
    type: str
    required: true
  state:
    description: Whether it is there. Only a cloudlet without endpoints in pools and without VMs can be removed.
    type: str
    choices: [present, absent]
    default: present
  pe:
    description: Kind of PE. Needed for a new one; it cannot change.
    type: str
    choices: [vpls, evpn, vpnv4, vpnv6]
  vtep:
    description: IPv4 address of its tunnels and BGP sessions. Needed for a new one.
    type: str
  unmanaged:
    description: Its PE has no agent; others configure it. It cannot change.
    type: bool
  asn:
    description: AS number of an unmanaged PE; 0 means the region's.
    type: int
  ttl_security:
    description: Greatest distance of an unmanaged PE in hops (RFC 5082); 0 means the route servers' setting.
    type: int
  approval:
    description: After its agent's enrolment it waits for an operator's approval.
    type: bool
  labels:
    description: All its labels; those that are not here are removed.
    type: dict
  latitude:
    description: WGS-84 degrees north, together with O(longitude).
    type: float
  longitude:
    description: WGS-84 degrees east, together with O(latitude).
    type: float
  token_seconds:
    description: How long the token of a new one is good for.
    type: int
    default: 3600
  token_to:
    description:
      - A new file for the token, readable by its owner alone, on the host where the module runs.
      - Without it, C(weft cloudlet token) makes a token later.
    type: path
extends_documentation_fragment: weft.weft.connection
author: The Weft maintainers
"""

EXAMPLES = r"""
- name: The cloudlet is invited
  weft.weft.weft_cloudlet:
    name: turin
    pe: vpls
    vtep: 198.51.100.1
    labels: {city: turin}
    token_to: /root/turin.token
"""

RETURN = r"""
cloudlet:
  description: The cloudlet as it is now; in check mode, as it is still.
  returned: when it is there
  type: dict
token_expires_at:
  description: When the token of a new one expires.
  returned: for a new one with an agent
  type: str
token_to:
  description: The file of the token.
  returned: for a new one, if O(token_to) is given
  type: str
change:
  description: The effect of the change, such as C(generation), C(in_force) and C(interrupted).
  returned: for a change or removal
  type: dict
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.weft.weft.plugins.module_utils.declaration import Declaration, given, merging
from ansible_collections.weft.weft.plugins.module_utils.new_secret import NewSecrets
from ansible_collections.weft.weft.plugins.module_utils.rest_client import OPTIONS, RestClient


def _patch(present: dict[str, Any], differing: dict[str, Any]) -> dict[str, Any]:
    if "labels" not in differing:
        return differing
    return {**differing, "labels": merging(present["labels"], differing["labels"])}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "pe": {"type": "str", "choices": ["vpls", "evpn", "vpnv4", "vpnv6"]},
            "vtep": {"type": "str"},
            "unmanaged": {"type": "bool"},
            "asn": {"type": "int"},
            "ttl_security": {"type": "int"},
            "approval": {"type": "bool"},
            "labels": {"type": "dict"},
            "latitude": {"type": "float"},
            "longitude": {"type": "float"},
            "token_seconds": {"type": "int", "default": 3600, "no_log": False},
            "token_to": {"type": "path", "no_log": False},
        },
        required_together=[("latitude", "longitude")],
        supports_check_mode=True,
    )
    names = ("pe", "vtep", "unmanaged", "asn", "ttl_security", "approval", "labels", "latitude", "longitude")
    fields = given(module.params, *names, none=("asn", "ttl_security"))
    if "labels" in fields:
        fields["labels"] = {key: str(value) for key, value in fields["labels"].items()}
    client = RestClient(module)
    new = {"token_seconds": module.params["token_seconds"]}
    wanted = Declaration(module, client, "cloudlets", "cloudlet", fields, new, _patch, rehearses=True)
    to = module.params["token_to"]
    is_new = to and module.params["state"] == "present" and not module.check_mode and not fields.get("unmanaged")
    is_new = is_new and client.find("cloudlets", wanted.name)[0] is None
    with NewSecrets(module, "token_to", {wanted.name: Path(to)} if is_new else {}) as secrets:

        def made(answer: dict[str, Any]) -> dict[str, Any]:
            token = answer.get("token")
            written = secrets.write({wanted.name: token} if token else {})
            if token and not written:
                module.warn(f"the token of {wanted.name} is not kept: `weft cloudlet token` makes another, or token_to")
            return {"token_expires_at": answer["token_expires_at"]} | ({"token_to": to} if written else {})

        wanted.run(made)


if __name__ == "__main__":
    main()
