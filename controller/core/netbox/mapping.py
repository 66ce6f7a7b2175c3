"""The mapping: which objects of a NetBox become objects of Weft, and by which custom fields. Its defaults are those of
its schema, `policies/netbox.schema.json`."""

from collections.abc import Mapping as Map
from dataclasses import dataclass, field
from typing import Any

from controller.core.yaml_document.errors import DocumentInvalid
from controller.core.yaml_document.form import Form

PREFIX = "weft_"
"""The beginning of a custom field's name, if the mapping names no other."""

Names = tuple[str, ...]


class MappingInvalid(DocumentInvalid):
    """A mapping that is refused."""

    noun = "mapping"


FORM = Form("a mapping of a NetBox", "netbox.schema.json", MappingInvalid)


@dataclass(frozen=True)
class Section:
    """The selection of one kind of objects, and the meaning of their custom fields. Empty `statuses` and `vrfs` select
    all; `vtep_roles` and `labels` are those of sites."""

    tags: Names = ()
    roles: Names = ()
    statuses: Names = ()
    vrfs: Names = ()
    vtep_roles: Names = ()
    labels: Map[str, str] = field(default_factory=dict)
    fields: Map[str, str] = field(default_factory=dict)
    defaults: Map[str, Any] = field(default_factory=dict)

    def custom_field(self, name: str) -> str:
        """Return the custom field that holds a field of Weft's."""
        return self.fields.get(name, f"{PREFIX}{name}")


@dataclass(frozen=True)
class Mapping:
    """A mapping, with all defaults."""

    cloudlets: Section
    endpoints: Section
    devices: Section
    addresses: Section
    vms: Section


def parse(text: str, filename: str) -> Mapping:
    """Return the mapping in `text`; `filename` is for messages only. Raises MappingInvalid with every error."""
    document = FORM.read(text, filename)
    if wrong := FORM.violations(document, filename):
        raise MappingInvalid(wrong)
    given: Any = document.data
    return _mapping({name: given.get(name, {}) for name in Mapping.__dataclass_fields__})


def default() -> Mapping:
    """Return the mapping that says nothing itself."""
    return _mapping({})


def _mapping(given: Map[str, Any]) -> Mapping:
    return Mapping(**{name: _section(name, given.get(name, {})) for name in Mapping.__dataclass_fields__})


def _section(name: str, given: Map[str, Any]) -> Section:
    known = FORM.schema["$defs"][name]["properties"]
    found = {key: given.get(key, part["default"]) for key, part in known.items() if "default" in part}
    found |= {key: given.get(key, {}) for key in ("fields", "defaults") if key in known}
    made: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
    return Section(**made)
