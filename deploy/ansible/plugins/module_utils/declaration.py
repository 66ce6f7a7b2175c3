"""An object of a region as a playbook declares it: made, changed by PATCH where it differs, or removed."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.weft.weft.plugins.module_utils.rest_client import RestClient

Json = dict[str, Any]
UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


@dataclass
class Declaration:
    """One object: the collection of the API and the noun that names it in results, the fields that the playbook gives,
    in the API's form, and the fields that only matter when it is made. `patch` makes the body of a change from the
    present object and the fields that differ. `rehearses`: removals can be rehearsed, not only changes."""

    module: AnsibleModule
    client: RestClient
    collection: str
    noun: str
    fields: Json
    only_new: Json = field(default_factory=dict)
    patch: Callable[[Json, Json], Json] = lambda present, differing: differing
    rehearses: bool = False

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.module.params["name"])

    def run(self, made: Callable[[Json], Json] = lambda answer: {}) -> None:
        """Make the region so, and end the module. `made` returns more results from the answer to a creation."""
        present, etag = self.client.find(self.collection, self.name)
        if self.module.params["state"] == "absent":
            self._remove(present, etag)
        elif present is None:
            self._create(made)
        else:
            self._change(present, etag)

    def _create(self, made: Callable[[Json], Json]) -> None:
        body = {"name": self.name, **self.fields, **self.only_new}
        result: Json = {"changed": True, "diff": self._diff({}, self.fields)}
        if not self.module.check_mode:
            answer = self.client.change("POST", self.collection, body=body)
            result.update(made(answer))
            result[self.noun] = self.client.get(self.collection, self.name)
        self.module.exit_json(**result)

    def _change(self, present: Json, etag: str | None) -> None:
        differing = {key: value for key, value in self.fields.items() if not same(present.get(key), value)}
        if not differing:
            self.module.exit_json(changed=False, **{self.noun: present})
        before = {key: present.get(key) for key in differing}
        body, rehearsed = self.patch(present, differing), self.module.check_mode
        names = (self.collection, self.name)
        answer = self.client.change("PATCH", *names, body=body, etag=etag, dry_run=rehearsed or None)
        result: Json = {"changed": True, "diff": self._diff(before, differing)}
        result[self.noun] = present if rehearsed else self.client.get(*names)
        self.module.exit_json(**result, **outcome(self.module, answer))

    def _remove(self, present: Json | None, etag: str | None) -> None:
        if present is None:
            self.module.exit_json(changed=False)
            return
        rehearsed = self.module.check_mode
        answer: Json = {}
        if not rehearsed or self.rehearses:
            names = (self.collection, self.name)
            answer = self.client.change("DELETE", *names, etag=etag, dry_run=rehearsed or None)
        before = {key: present.get(key) for key in (*self.fields, *self.only_new) or ("name",)}
        self.module.exit_json(changed=True, diff=self._diff(before or present, {}), **outcome(self.module, answer))

    def _diff(self, before: Json, after: Json) -> Json:
        title = f"{self.noun} {self.name}"
        return {"before": before, "after": after, "before_header": title, "after_header": title}


def outcome(module: AnsibleModule, answer: Json) -> Json:
    """Return the effect of a change for a result, if the answer has one. Warn of a change that is not in force yet."""
    if "in_force" not in answer:
        return {}
    if not answer["in_force"] and not answer.get("dry_run"):
        late = [f"agent of {one['cloudlet']}" for one in answer.get("agents") or [] if not one["confirmed"]]
        late = [*(f"route server {name}" for name in answer.get("unreachable") or []), *late]
        module.warn(f"made, but not confirmed within the time allowed by: {', '.join(late) or 'the region'}")
    return {"change": {key: value for key, value in answer.items() if key not in ("plan", "tokens")}}


def given(params: Json, *names: str, none: tuple[str, ...] = ()) -> Json:
    """Return the options that a playbook gives. Those in `none` mean no value if they are empty, or 0."""
    found = {name: params[name] for name in names if params[name] is not None}
    return {name: None if name in none and value in ("", 0, {}) else value for name, value in found.items()}


def same(present: Any, wanted: Any) -> bool:
    """Return whether two values mean the same: addresses, prefixes and MACs have several forms."""
    if isinstance(present, str) and isinstance(wanted, str):
        return _plain(present) == _plain(wanted)
    if isinstance(present, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return len(present) == len(wanted) and all(same(one, wanted[number]) for number, one in enumerate(present))
    if isinstance(present, dict) and isinstance(wanted, dict):
        return present.keys() == wanted.keys() and all(same(present[key], wanted[key]) for key in present)
    return bool(present == wanted)


def _plain(text: str) -> str:
    if re.fullmatch(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}|([0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}", text):
        return re.sub("[:.-]", "", text).lower()
    try:
        return str(ipaddress.ip_network(text)) if "/" in text else str(ipaddress.ip_address(text))
    except ValueError:
        return text


def size(module: AnsibleModule, option: str, value: str) -> int:
    """Return a number of bytes, from a number or a size such as 512M, in powers of 1024."""
    found = re.fullmatch(r"([0-9]{1,15})([KMGT]?)", value)
    if found is None:
        module.fail_json(msg=f"{option}: {value!r} is neither a number of bytes nor a size such as 512M or 4G")
        raise AssertionError
    return int(found[1]) << UNITS.get(found[2], 0)


def merging(present: Json, wanted: Json) -> Json:
    """Return the merge patch (RFC 7396) that makes one mapping of another."""
    return {**dict.fromkeys(present.keys() - wanted.keys()), **wanted}
