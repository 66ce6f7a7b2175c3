"""The kinds of objects in an inventory, and the fields of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.core import fixed
from controller.core.cpu_choice import BY_POLICY

Fields = Mapping[str, Any]
"""The fields of an object, all of its kind: text, a number, true or false, None, a tuple of texts, or a mapping."""

Objects = Mapping[str, Mapping[str, Fields]]
"""Objects by section and name."""

CLOUDLETS, ENDPOINTS, DEVICES, VMS = "cloudlets", "endpoints", "devices", "vms"


@dataclass(frozen=True)
class Kind:
    """One section. `noun` is a user's word for one of its objects. Fields are `required`, or have `defaults`. `fixed`
    has the reasons why a field cannot change."""

    noun: str
    required: tuple[str, ...]
    defaults: Fields
    fixed: Mapping[str, str] = field(default_factory=dict)

    def filled(self, given: Fields) -> dict[str, Any]:
        """Return all fields of an object of which the given ones are known."""
        return {**dict.fromkeys(self.required), **self.defaults, **given}

    def spare(self, fields: Fields) -> dict[str, Any]:
        """Return the fields of an object that a file has to have: the required ones, and those without the default."""
        names = (*self.required, *(name for name, value in self.defaults.items() if fields[name] != value))
        return {name: fields[name] for name in names}


KINDS: Mapping[str, Kind] = {
    CLOUDLETS: Kind(
        "cloudlet",
        ("pe", "vtep"),
        {
            "unmanaged": False,
            "asn": None,
            "ttl_security": None,
            "approval": False,
            "labels": {},
            "latitude": None,
            "longitude": None,
        },
        fixed.OF_CLOUDLETS,
    ),
    ENDPOINTS: Kind(
        "endpoint",
        ("cloudlet", "prefix"),
        {
            "prefix6": None,
            "ports": (),
            "vni": None,
            "mtu": 1450,
            "lease_seconds": 3600,
            "max_routes": None,
            "tenant": None,
        },
        fixed.OF_ENDPOINTS,
    ),
    DEVICES: Kind("device", (), {"mac": None, "client_id": None, "vm": None}),
    VMS: Kind(
        "VM",
        ("device", "endpoint", "image", "memory"),
        {
            "driver": "qemu",
            "vcpus": 1,
            "cpu": BY_POLICY,
            "macs": None,
            "disk": None,
            "options": {},
            "check": None,
            "handover": None,
        },
        fixed.OF_VMS,
    ),
}
"""The sections, in the order in which objects are made. They are removed in the opposite order."""


def named(objects: Objects) -> dict[str, list[str]]:
    """Return the names of objects, sorted, by section."""
    return {section: sorted(objects[section]) for section in KINDS if objects.get(section)}
