"""Objects of a NetBox, as its REST API describes them (NetBox 4.0 and later). Fields that a release does not have are
absent, not wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

Json = Mapping[str, Any]


class Noun(StrEnum):
    """A user's word for a kind of objects."""

    SITE = "site"
    LOCATION = "location"
    DEVICE = "device"
    INTERFACE = "interface"
    PREFIX = "prefix"
    ADDRESS = "IP address"
    VM = "virtual machine"
    VM_INTERFACE = "VM interface"
    NETBOX = "NetBox"


@dataclass(frozen=True)
class Thing:
    """One object of a NetBox. Equal are those of one kind and id."""

    noun: Noun
    content: Json = field(repr=False, compare=False)
    id: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", int(self.content.get("id", "")))

    @property
    def name(self) -> str:
        """The name that the web UI shows."""
        return str(self.content.get("display") or self.content.get("name") or self.id)

    @property
    def url(self) -> str:
        """The page of the web UI; before NetBox 4.1, the REST API's."""
        return str(self.content.get("display_url") or self.content.get("url") or "")

    @property
    def status(self) -> str:
        """The status; empty for objects that have none."""
        return text(self.content.get("status"))

    @cached_property
    def tags(self) -> frozenset[str]:
        """The slugs of its tags."""
        return frozenset(str(tag.get("slug")) for tag in self.content.get("tags") or ())

    def slug(self, key: str) -> str:
        """Return the slug of the object below a key; empty without one."""
        found = self.content.get(key)
        return str(found.get("slug") or "") if isinstance(found, Mapping) else ""

    def id_of(self, key: str) -> int | None:
        """Return the id of the object below a key; None without one."""
        found = self.content.get(key)
        return int(found["id"]) if isinstance(found, Mapping) else None

    def fill(self, name: str) -> str:
        """Return the remedy that a custom field lacks."""
        there = name in (self.content.get("custom_fields") or {})
        return f"fill its custom field {name}" if there else f"make a custom field {name} for its kind, and fill it"

    def custom(self, name: str) -> Any:
        """Return the value of a custom field; None if there is none, or no such field."""
        value = (self.content.get("custom_fields") or {}).get(name)
        return None if value in ("", [], {}) else value


@dataclass(frozen=True)
class Snapshot:
    """The objects of a NetBox that a mapping selects, with those that they need: devices with PEs among them, and the
    interfaces and locations of all of these. `url` is NetBox's own."""

    url: str
    sites: tuple[Thing, ...] = ()
    locations: tuple[Thing, ...] = ()
    devices: tuple[Thing, ...] = ()
    interfaces: tuple[Thing, ...] = ()
    prefixes: tuple[Thing, ...] = ()
    addresses: tuple[Thing, ...] = ()
    vms: tuple[Thing, ...] = ()
    vm_interfaces: tuple[Thing, ...] = ()

    @property
    def whole(self) -> Thing:
        """NetBox itself, for errors about no object of its."""
        return Thing(Noun.NETBOX, {"id": 0, "display": "as a whole", "url": self.url})

    @cached_property
    def by_id(self) -> Mapping[tuple[Noun, int], Thing]:
        """Sites, locations, devices and interfaces, by kind and id."""
        kinds = (self.sites, self.locations, self.devices, self.interfaces, self.vm_interfaces)
        return {(thing.noun, thing.id): thing for kind in kinds for thing in kind}

    @cached_property
    def interfaces_of(self) -> Mapping[int, tuple[Thing, ...]]:
        """The interfaces of each device, by its id."""
        return _by(self.interfaces, "device")

    @cached_property
    def vm_interfaces_of(self) -> Mapping[int, tuple[Thing, ...]]:
        """The interfaces of each virtual machine, by its id."""
        return _by(self.vm_interfaces, "virtual_machine")


def _by(things: tuple[Thing, ...], key: str) -> Mapping[int, tuple[Thing, ...]]:
    found: dict[int, list[Thing]] = {}
    for thing in things:
        if (owner := thing.id_of(key)) is not None:
            found.setdefault(owner, []).append(thing)
    return {owner: tuple(each) for owner, each in found.items()}


def text(value: Any) -> str:
    """Return a value as text: a choice's value, an address without its mask, another object's name; empty for None."""
    if isinstance(value, Mapping):
        if "address" in value:
            return str(value["address"]).partition("/")[0]
        found = next((value[key] for key in ("value", "asn", "mac_address", "name", "display") if value.get(key)), "")
        return str(found)
    return "" if value is None else str(value).strip()
