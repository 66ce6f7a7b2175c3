"""A policy or an inventory: planned, and applied exactly as planned or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.weft.weft.plugins.module_utils.declaration import outcome
from ansible_collections.weft.weft.plugins.module_utils.rest_client import RestClient

OPTIONS: dict[str, Any] = {
    "src": {"type": "path"},
    "content": {"type": "str"},
    "allow_disconnect": {"type": "bool", "default": False},
}
"""The options of both. One of `src` and `content` has the text."""


class AppliedText:
    """A text that operators write. `noun` is its part of the API."""

    def __init__(self, module: AnsibleModule, noun: str) -> None:
        self._module, self._noun = module, noun
        self.client = RestClient(module)
        self.text, self._file = self._read()

    def plan(self, **terms: object) -> dict[str, Any]:
        """Return the plan. It ends the module if the text is wrong, or if devices would lose their VMs."""
        found: dict[str, Any] = self.client.send_text(self._noun, "plan", text=self.text, filename=self._file, **terms)
        for one in found["warnings"]:
            self._module.warn(f"{one['file']}:{one['line']}:{one['column']}: {one['message']}")
        if found["disconnects"] and not self._module.params["allow_disconnect"]:
            said = "; ".join(one["at"]["message"] for one in found["disconnects"])
            self._module.fail_json(msg=f"allow_disconnect: it is needed, as {said}", plan=found["plan"])
        return found

    def differs(self, found: dict[str, Any], steps: bool) -> bool:
        """Return whether the region or the text in force differs; `steps`: the plan has some."""
        self._before = str(self.client.get(self._noun)["text"])
        return steps or self._before != self.text

    def apply(self, found: dict[str, Any], **terms: object) -> dict[str, Any]:
        """Apply the text as planned. Return the answer."""
        etag = found["etag"]
        terms.update(planned=found["planned"], allow_disconnect=self._module.params["allow_disconnect"])
        answer: dict[str, Any] = self.client.send_text(
            self._noun, "apply", text=self.text, etag=etag, filename=self._file, **terms
        )
        return answer

    def end(self, found: dict[str, Any], answer: dict[str, Any] | None, changed: bool, **more: Any) -> None:
        """End the module, with the plan, the difference of the texts and the effect."""
        result: dict[str, Any] = {"changed": changed, "plan": found["plan"], **more}
        if changed:
            headers = {"before_header": f"{self._noun} in force", "after_header": self._file}
            result["diff"] = {"before": self._before, "after": self.text, **headers}
        if answer is not None:
            result.update(outcome(self._module, answer))
        result["revision"] = (answer or found)["revision"]
        self._module.exit_json(**result)

    def _read(self) -> tuple[str, str]:
        src = self._module.params["src"]
        if src is None:
            return str(self._module.params["content"]), f"{self._noun}.yaml"
        try:
            return Path(src).read_text(encoding="utf-8"), Path(src).name
        except UnicodeDecodeError as error:
            self._module.fail_json(msg=f"src: {src} is not UTF-8 text (byte {error.start})")
        except OSError as error:
            self._module.fail_json(msg=f"src: cannot read {src}: {error.strerror}")
        raise AssertionError
