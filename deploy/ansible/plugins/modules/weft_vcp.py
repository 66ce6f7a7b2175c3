#!/usr/bin/python
"""The module `weft_vcp`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weft_vcp
short_description: A Virtual Cloud Pool of a Weft region
description:
  - Founds and removes pools, and makes endpoints join and leave. Each join and leave is a change of its own.
  - A pool that the policy manages is changed by M(weft.weft.weft_policy); changes by hand are drift there.
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
  flavour:
    description: The kind of its members' PEs. It cannot change; a new one is C(vpls) by default.
    type: str
    choices: [vpls, evpn, vpnv4, vpnv6]
  description:
    description: A line about it, which cannot change.
    type: str
  members:
    description: All its members; others leave. If it is not given, members stay as they are.
    type: list
    elements: str
  force:
    description: Whether a pool that is removed may have members, which leave it first.
    type: bool
    default: false
extends_documentation_fragment: weft.weft.connection
author: The Weft maintainers
"""

EXAMPLES = r"""
- name: Turin and Milan are one pool
  weft.weft.weft_vcp:
    name: blue
    members: [turin-lan, milan-lan]
"""

RETURN = r"""
vcp:
  description: The pool as it is now; in check mode, as it is still.
  returned: when it is there
  type: dict
changes:
  description: The effect of each join and leave, in their order.
  returned: if members join or leave
  type: list
  elements: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.weft.weft.plugins.module_utils.declaration import given, outcome
from ansible_collections.weft.weft.plugins.module_utils.rest_client import OPTIONS, RestClient

FIXED = "it cannot change: remove the pool, and found it again"


class Pool:
    """A pool as the playbook wants it."""

    def __init__(self, module: AnsibleModule) -> None:
        self._module, self._client = module, RestClient(module)
        self._name, self._rehearsed = str(module.params["name"]), bool(module.check_mode)
        self._changes: list[dict[str, Any]] = []

    def run(self) -> None:
        """Make it so, and end the module."""
        present, etag = self._client.find("vcps", self._name)
        params = self._module.params
        if params["state"] == "absent":
            self._remove(present, etag)
            return
        fields = given(params, "flavour", "description")
        if present is not None:
            for field, value in fields.items():
                if present[field] != value:
                    self._module.fail_json(msg=f"{field}: it is {present[field]!r} and {FIXED}")
            if present["managed_by_policy"]:
                self._module.warn(f"the policy manages {self._name}: change its members there, by weft_policy")
        before = sorted(present["members"]) if present else []
        wanted = before if params["members"] is None else sorted(set(params["members"]))
        if present is None and not self._rehearsed:
            self._client.change("POST", "vcps", body={"name": self._name, **fields})
        if present is not None or not self._rehearsed:
            self._members(before, wanted)
        was = {} if present is None else {"members": before}
        result: dict[str, Any] = {"changed": present is None or before != wanted}
        if result["changed"]:
            result["diff"] = self._diff(was, {**fields, "members": wanted} if present is None else {"members": wanted})
        if self._changes:
            result["changes"] = self._changes
        if present is not None or not self._rehearsed:
            result["vcp"] = self._client.get("vcps", self._name)
        self._module.exit_json(**result)

    def _members(self, before: list[str], wanted: list[str]) -> None:
        """Make endpoints leave, and then join."""
        for endpoint in sorted(set(before) - set(wanted)):
            self._step("DELETE", (endpoint,), None)
        for endpoint in sorted(set(wanted) - set(before)):
            self._step("POST", (), {"endpoint": endpoint})

    def _step(self, method: str, more: tuple[str, ...], body: dict[str, Any] | None) -> None:
        _, etag = self._client.find("vcps", self._name)
        names = ("vcps", self._name, "members", *more)
        answer = self._client.change(method, *names, body=body, etag=etag, dry_run=self._rehearsed or None)
        self._changes.append(outcome(self._module, answer).get("change", answer))

    def _remove(self, present: dict[str, Any] | None, etag: str | None) -> None:
        if present is None:
            self._module.exit_json(changed=False)
            return
        members = sorted(present["members"])
        if members and not self._module.params["force"]:
            named = ", ".join(members)
            self._module.fail_json(msg=f"state: {self._name} has members, {named}: `force: true` lets them leave first")
        self._members(members, [])
        if not (members and self._rehearsed):
            _, etag = self._client.find("vcps", self._name)
            self._client.change("DELETE", "vcps", self._name, etag=etag, dry_run=self._rehearsed or None)
        self._module.exit_json(changed=True, diff=self._diff({"members": members}, {}), changes=self._changes)

    def _diff(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        title = f"vcp {self._name}"
        return {"before": before, "after": after, "before_header": title, "after_header": title}


def main() -> None:
    """Run the module."""
    Pool(
        AnsibleModule(
            argument_spec={
                **OPTIONS,
                "name": {"type": "str", "required": True},
                "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
                "flavour": {"type": "str", "choices": ["vpls", "evpn", "vpnv4", "vpnv6"]},
                "description": {"type": "str"},
                "members": {"type": "list", "elements": "str"},
                "force": {"type": "bool", "default": False},
            },
            supports_check_mode=True,
        )
    ).run()


if __name__ == "__main__":
    main()
