"""The names that an edit of the intent adds, changes or removes. A reader of the intent before the edit uses them to
load only the differences."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from controller.core.intent import Intent
from controller.core.persistent_map import changed

STORED = {"permits": "berths"}
"""Kinds that are stored under the name that former releases know."""

MOST = 1000
"""The largest number of names that are listed: beyond it, reading everything is quicker."""


@dataclass(frozen=True)
class ChangedNames:
    """Names that were added, changed or removed."""

    cloudlets: frozenset[str] = frozenset()
    endpoints: frozenset[str] = frozenset()
    vcps: frozenset[str] = frozenset()
    permits: frozenset[str] = frozenset()

    def __or__(self, other: "ChangedNames") -> "ChangedNames":
        return ChangedNames(*(getattr(self, field.name) | getattr(other, field.name) for field in fields(self)))

    def __len__(self) -> int:
        return sum(len(getattr(self, field.name)) for field in fields(self))


def touched(old: Intent, new: Intent) -> ChangedNames | None:
    """Return the names that differ; None if there are too many, or if the policy differs."""
    if new.policy is not old.policy:
        return None
    kinds = (field.name for field in fields(ChangedNames))
    found = ChangedNames(*(frozenset(changed(getattr(old, kind), getattr(new, kind))) for kind in kinds))
    return found if len(found) <= MOST else None


def document(of: ChangedNames) -> dict[str, list[str]]:
    """Return the names as they are stored."""
    return {STORED.get(field.name, field.name): sorted(getattr(of, field.name)) for field in fields(of)}


def of_document(kept: Mapping[str, list[str]]) -> ChangedNames:
    """Return the names from their stored form, also one of a release that had no announce permits."""
    names = (STORED.get(field.name, field.name) for field in fields(ChangedNames))
    return ChangedNames(*(frozenset(kept.get(name, ())) for name in names))
