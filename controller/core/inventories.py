"""An inventory against a region: the steps that it takes, the intent that follows, and its text. All are pure."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.core import edits
from controller.core.alterations import OF_CLOUDLETS, OF_ENDPOINTS, Fields, alter_cloudlets, alter_endpoints, told
from controller.core.intent import Intent
from controller.core.inventory import KINDS, Inventory, Objects
from controller.core.inventory.kinds import CLOUDLETS, ENDPOINTS, VMS
from controller.core.inventory.parse import FORM
from controller.core.inventory.sections import cloudlets, endpoints, vms
from controller.core.lan_prefixes import DEFAULT_VNI
from controller.core.refusals import Refused, conflict, invalid
from controller.core.yaml_document.errors import DocumentError
from controller.core.yaml_document.form import VERSION
from controller.core.yaml_document.writing import written
from controller.wire.sizes import UNITS, short

MOST_REFUSALS = 20
"""Refusals that are collected of several alterations, as each is found by trying the others again."""

NONE: Mapping[str, Collection[str]] = {}


class Action(StrEnum):
    """A step's treatment of its object."""

    REMOVE = "remove"
    CHANGE = "change"
    CREATE = "create"


@dataclass(frozen=True)
class Difference:
    """A field that differs; None where it has no value."""

    field: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.field} {told(self.before)} → {told(self.after)}"


@dataclass(frozen=True)
class Step:
    """The treatment of the object of that section and name. Steps that create have the fields that are not the
    defaults, those that change the fields that differ."""

    action: Action
    section: str
    name: str
    differences: tuple[Difference, ...] = ()

    @property
    def noun(self) -> str:
        """A user's word for the object."""
        return KINDS[self.section].noun

    @property
    def fields(self) -> dict[str, Any]:
        """The new values of the fields that differ."""
        return {one.field: one.after for one in self.differences}


@dataclass(frozen=True)
class InventoryPlan:
    """The steps of an inventory, in the order in which they are taken. `adopted` counts, by section, the objects that
    are there and that this inventory is the first to name; `untouched` those that neither it nor the one before names.
    `warnings` are about differences that stay."""

    steps: tuple[Step, ...] = ()
    adopted: Mapping[str, int] = field(default_factory=dict)
    untouched: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[DocumentError, ...] = ()

    def those(self, action: Action, section: str) -> list[Step]:
        """Return the steps of one kind, by name."""
        return [step for step in self.steps if (step.action, step.section) == (action, section)]


def plan(inventory: Inventory, held: Objects, former: Mapping[str, Collection[str]] = NONE) -> InventoryPlan:
    """Return the steps from the objects that the region has to those of an inventory. `former` are the names in the
    inventory before this one, by section: those that are gone from it are removed."""
    removed: list[Step] = []
    changed: list[Step] = []
    created: list[Step] = []
    adopted: dict[str, int] = {}
    untouched: dict[str, int] = {}
    warnings: list[DocumentError] = []
    for section, kind in KINDS.items():
        there, once = held.get(section, {}), set(former.get(section, ()))
        for name, fields in inventory.of(section):
            if (now := there.get(name)) is None:
                differences = (Difference(key, None, value) for key, value in kind.spare(fields).items())
                created.append(Step(Action.CREATE, section, name, tuple(differences)))
            elif differing := _differing(section, now, fields):
                changed.append(Step(Action.CHANGE, section, name, differing))
            if now is not None and section == VMS and now["endpoint"] != fields["endpoint"]:
                text = f"{name} is at {now['endpoint']} by now: an inventory moves no VM"
                warnings.append(inventory.error((section, name, "endpoint"), text))
        gone = sorted(once & there.keys() - inventory.objects[section].keys())
        removed = [*(Step(Action.REMOVE, section, name) for name in gone), *removed]
        if first := (inventory.objects[section].keys() & there.keys()) - once:
            adopted[section] = len(first)
        if others := there.keys() - inventory.objects[section].keys() - once:
            untouched[section] = len(others)
    return InventoryPlan((*removed, *changed, *created), adopted, untouched, tuple(warnings))


def _differing(section: str, now: Fields, wanted: Fields) -> tuple[Difference, ...]:
    found = []
    for key, value in wanted.items():
        before = now[key]
        if section == ENDPOINTS and key == "vni" and value is None and before == DEFAULT_VNI:
            continue  # left out, it is this one
        if value != before and not (section == VMS and key == "endpoint"):
            found.append(Difference(key, before, value))
    return tuple(found)


def fixed(inventory: Inventory, steps: InventoryPlan) -> list[DocumentError]:
    """Return errors about fields that differ and cannot change."""
    return [
        inventory.refused(
            step.section, step.name, invalid(one.field, f"it is {told(one.before)} and cannot be changed: {why}")
        )
        for step in steps.steps
        if step.action is Action.CHANGE
        for one in step.differences
        if (why := KINDS[step.section].fixed.get(one.field))
    ]


def follow(
    inventory: Inventory, steps: InventoryPlan, intent: Intent, speakers: Iterable[str], asn: int
) -> tuple[Intent, list[DocumentError]]:
    """Return the intent after the steps, and the refusals, each with its place. `speakers` are the route servers'
    addresses, and `asn` is the region's AS number."""
    speakers, wrong, failed = tuple(speakers), list[DocumentError](), set[tuple[str, str]]()

    def each(action: Action, section: str, edit: Callable[[Intent, Step], Intent]) -> None:
        nonlocal intent
        for step in steps.those(action, section):
            try:
                intent = edit(intent, step)
            except Refused as refused:
                wrong.append(inventory.refused(section, step.name, refused))
                failed.add((section, step.name))

    def together(section: str, alter: Callable[[Intent, Mapping[str, Fields]], Intent]) -> None:
        nonlocal intent
        left = {step.name: _of_intent(step) for step in steps.those(Action.CHANGE, section)}
        for _ in range(MOST_REFUSALS):
            try:
                intent = alter(intent, left)
                return
            except Refused as refused:
                name = refused.about or min(left)
                wrong.append(inventory.refused(section, name, refused))
                del left[name]

    each(Action.REMOVE, ENDPOINTS, lambda intent, step: edits.remove_endpoint(intent, step.name))
    each(Action.REMOVE, CLOUDLETS, _without)
    together(CLOUDLETS, lambda intent, fields: alter_cloudlets(intent, fields, speakers))
    together(ENDPOINTS, lambda intent, fields: alter_endpoints(intent, fields, speakers))
    made = inventory.objects

    def add_cloudlet(intent: Intent, step: Step) -> Intent:
        return edits.add_cloudlet(intent, cloudlets.wanted(step.name, made[CLOUDLETS][step.name]), speakers)

    def add_endpoint(intent: Intent, step: Step) -> Intent:
        wanted = endpoints.wanted(step.name, made[ENDPOINTS][step.name])
        if (CLOUDLETS, wanted.cloudlet) in failed:
            return intent  # the refusal of its cloudlet says enough
        return edits.add_endpoint(intent, wanted, speakers, asn)

    each(Action.CREATE, CLOUDLETS, add_cloudlet)
    each(Action.CREATE, ENDPOINTS, add_endpoint)
    return intent, wrong


def _without(intent: Intent, step: Step) -> Intent:
    if others := [endpoint.name for endpoint in intent.endpoints_of.get(step.name, ())]:
        text = f"{step.name} has endpoints that no inventory named ({', '.join(others)}): remove them first"
        raise conflict(text)
    return edits.remove_cloudlet(intent, step.name)


def _of_intent(step: Step) -> dict[str, Any]:
    """Return the new values of fields that the intent has."""
    names = OF_CLOUDLETS if step.section == CLOUDLETS else OF_ENDPOINTS
    return {key: value for key, value in step.fields.items() if key in names}


def text(held: Objects) -> str:
    """Return a whole inventory of objects. Applied, it changes nothing. Raises CannotBeWritten."""
    sections = {
        section: {name: _written(section, name, kind.spare(fields)) for name, fields in sorted(held[section].items())}
        for section, kind in KINDS.items()
        if held.get(section)
    }
    return written({VERSION: FORM.version, **sections})


def _written(section: str, name: str, fields: Fields) -> dict[str, Any]:
    """Return the fields of an object in the form of a file."""
    found = {key: _without_none(value) for key, value in fields.items() if value is not None}
    if section == VMS:
        found["memory"] = _size(found["memory"])
        if found.get("macs") == vms.made_macs(name):
            del found["macs"]
        if "disk" in found:
            found["disk"] = {**found["disk"], "bytes": _size(found["disk"]["bytes"])}
    return found


def _without_none(value: Any) -> Any:
    return {key: one for key, one in value.items() if one is not None} if isinstance(value, Mapping) else value


def _size(number: int) -> int | str:
    said = short(number)
    return said if said[-1] in UNITS else number
