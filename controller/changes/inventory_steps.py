"""The steps of an inventory, in the form that its caller receives, and that the history has."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from controller.core.inventories import Action, InventoryPlan
from controller.core.inventory import KINDS

Section = Literal["cloudlets", "endpoints", "devices", "vms"]


class ChangedField(BaseModel):
    """A field that differs; null where it has no value."""

    field: str
    before: Any
    after: Any


class InventoryStep(BaseModel):
    """The object of a section and a name that is made, changed or removed. `fields` are those that differ, or those of
    a new object that are not the defaults."""

    action: Action
    section: Section
    name: str
    fields: list[ChangedField] = Field(default_factory=list)


class InventorySteps(BaseModel):
    """The steps that an inventory takes, in this order. `adopted` counts, by section, the objects that are there
    already and that this inventory is the first to name; `untouched` those that neither it nor the one before names."""

    steps: list[InventoryStep] = Field(default_factory=list)
    adopted: dict[Section, int] = Field(default_factory=dict)
    untouched: dict[Section, int] = Field(default_factory=dict)

    @classmethod
    def of(cls, plan: InventoryPlan) -> "InventorySteps":
        """Return a plan in the form of this model."""
        return cls.model_validate(
            {
                "steps": [
                    {
                        "action": step.action,
                        "section": step.section,
                        "name": step.name,
                        "fields": [
                            {"field": one.field, "before": _plain(one.before), "after": _plain(one.after)}
                            for one in step.differences
                        ],
                    }
                    for step in plan.steps
                ],
                "adopted": dict(plan.adopted),
                "untouched": dict(plan.untouched),
            }
        )

    def sentence(self) -> str:
        """Return the steps in words, for events: how many of each kind, such as `3 endpoints changed`."""
        counts: dict[tuple[str, Action], int] = {}
        for step in self.steps:
            counts[step.section, step.action] = counts.get((step.section, step.action), 0) + 1
        said = [
            f"{number} {KINDS[section].noun}{'s' if number > 1 else ''} {action}d"
            for (section, action), number in counts.items()
        ]
        return ", ".join(said) or "nothing changed"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return list(value) if isinstance(value, tuple) else value
