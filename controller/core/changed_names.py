"""What an edit of the intent touched, by name: so that whoever has the intent of before can take over what is new
without reading the whole of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from controller.core.intent import Intent
from controller.core.persistent_map import changed

STORED = {"permits": "berths"}
"""Kinds that are kept under the name that former releases know."""

MOST = 1000
"""Names: beyond this many it is quicker to read everything."""


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
    """What is different; None if that is too much to name, or the policy."""
    if new.policy is not old.policy:
        return None
    kinds = (field.name for field in fields(ChangedNames))
    found = ChangedNames(*(frozenset(changed(getattr(old, kind), getattr(new, kind))) for kind in kinds))
    return found if len(found) <= MOST else None


def document(of: ChangedNames) -> dict[str, list[str]]:
    """As it is kept."""
    return {STORED.get(field.name, field.name): sorted(getattr(of, field.name)) for field in fields(of)}


def of_document(kept: Mapping[str, list[str]]) -> ChangedNames:
    """As it was kept, also by a release that had no announce permits."""
    names = (STORED.get(field.name, field.name) for field in fields(ChangedNames))
    return ChangedNames(*(frozenset(kept.get(name, ())) for name in names))
