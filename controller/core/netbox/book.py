"""The inventory under construction: its objects, the object of NetBox behind each field, and the errors so far."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from controller.core.inventory import KINDS
from controller.core.names import is_name
from controller.core.netbox.findings import Finding
from controller.core.netbox.mapping import Section
from controller.core.netbox.things import Thing, text
from controller.core.words import show
from controller.core.yaml_document.errors import DocumentError

_SEPARATORS = re.compile(r"[ ._/-]+")
_STEPS = re.compile(r"[.\[]")

At = tuple[str, str, str]
"""A field of an object: section, name and key."""


@dataclass(frozen=True)
class Origin:
    """The origin of a field's value: the object of NetBox, and a user's word for the value there."""

    thing: Thing
    what: str


class Book:
    """All that is known so far. `names` are those of the objects of NetBox that have become one of Weft's."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, dict[str, Any]]] = {section: {} for section in KINDS}
        self.names: dict[Thing, str] = {}
        self.findings: list[Finding] = []
        self._owners: dict[tuple[str, str], Thing] = {}
        self._origins: dict[At, Origin] = {}
        self._told: set[At] = set()

    def wrong(self, thing: Thing, message: str, remedy: str, at: At | None = None) -> None:
        """Note an error; `at` is the field that has no right value because of it."""
        self.findings.append(Finding(thing.url, f"{thing.noun} {thing.name}", message, remedy))
        if at is not None:
            self._told.add(at)

    def draft(self, section: str, thing: Thing, of: Section, proposed: str) -> "Draft | None":
        """Return the draft of the object that `thing` becomes; None if it can have no name, which is noted. The name is
        that of its custom field, or else the proposed one in the form of a name."""
        field = of.custom_field("name")
        given = text(thing.custom(field))
        name = given or _SEPARATORS.sub("-", proposed.strip().lower()).strip("-")
        form = "1 to 63 lower-case letters, digits and hyphens, beginning and ending with a letter or digit"
        if not is_name(name):
            what = show(given or proposed) if given or proposed.strip() else "nothing"
            self.wrong(thing, f"{what} cannot be its name in Weft", f"{thing.fill(field)} with {form}")
            return None
        if (owner := self._owners.setdefault((section, name), thing)) is not thing:
            message = f"{KINDS[section].noun} {name} is {owner.noun} {owner.name} ({owner.url}) already"
            self.wrong(thing, message, f"{thing.fill(field)} with another name")
            return None
        self.names[thing] = name
        fields = self.objects[section][name] = {}
        return Draft(self, section, name, thing, of, fields)

    def drop_wrong(self) -> None:
        """Forget the objects that have an error."""
        for section, name, _ in self._told:
            self.objects.get(section, {}).pop(name, None)

    def came_from(self, at: At, origin: Origin) -> None:
        """Note the origin of a field."""
        self._origins[at] = origin

    def refused(self, error: DocumentError, whole: Thing) -> None:
        """Note an error that the inventory's own check has found, at the object of NetBox that it comes from."""
        section, name, field, *_ = [*_STEPS.split(error.field), "", "", ""]
        if (section, name, field) in self._told:
            return
        origin = self._origins.get((section, name, field))
        thing = origin.thing if origin else self._owners.get((section, name), whole)
        self._told.add((section, name, field))
        self.wrong(thing, error.message, f"correct {origin.what if origin else 'it'}")


@dataclass(frozen=True)
class Draft:
    """One object of the inventory under construction: its section and name, and the object of NetBox that it is."""

    book: Book
    section: str
    name: str
    thing: Thing
    of: Section
    fields: dict[str, Any]

    def set(self, field: str, value: Any, what: str, thing: Thing | None = None) -> None:
        """Set a field to a value from `thing`, by default its own object of NetBox; `what` is its name there."""
        self.fields[field] = value
        self.book.came_from((self.section, self.name, field), Origin(thing or self.thing, what))

    def take(self, field: str, read: Callable[[Any], Any] = lambda value: value) -> bool:
        """Set a field by its custom field, or by the mapping's default. Return whether either has a value."""
        custom = self.of.custom_field(field)
        if (value := self.thing.custom(custom)) is not None:
            self.set(field, read(value), f"its custom field {custom}")
        elif field in self.of.defaults:
            self.set(field, self.of.defaults[field], f"{field} in `defaults` of the mapping's {self.section}")
        return field in self.fields

    def fill(self, field: str) -> str:
        """Return the remedy that the custom field of a field has no value."""
        return self.thing.fill(self.of.custom_field(field))

    def wrong(self, field: str, message: str, remedy: str, thing: Thing | None = None) -> None:
        """Note that a field has no right value, because of `thing`."""
        self.book.wrong(thing or self.thing, message, remedy, (self.section, self.name, field))
