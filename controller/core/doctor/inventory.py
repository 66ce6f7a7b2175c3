"""The comparison of the inventory that was applied last with the region."""

from dataclasses import dataclass

from controller.core.doctor.difference import Difference
from controller.core.doctor.kinds import DifferenceKind
from controller.core.inventories import Action, InventoryPlan

MOST = 20
"""Objects that are told one by one; of more the number is told."""


@dataclass(frozen=True)
class Applied:
    """A revision of the inventory, the steps that applying it anew would take, and the reasons why its text cannot be
    read."""

    revision: int
    plan: InventoryPlan
    wrong: tuple[str, ...] = ()


def compare_inventory(inventory: Applied) -> list[Difference]:
    """Return the differences: objects that are not as the inventory says."""
    where, kind = f"inventory revision {inventory.revision}", DifferenceKind.INVENTORY_DRIFT
    found = [
        Difference(kind, where, "inventory", "an inventory that can be read", "one that cannot", wrong)
        for wrong in inventory.wrong[:MOST]
    ]
    for step in inventory.plan.steps[:MOST]:
        about = f"{step.noun} {step.name}"
        if step.action is Action.CREATE:
            found.append(Difference(kind, where, about, "there", "not there", f"there is no {about}"))
        else:
            fields = ", ".join(one.field for one in step.differences)
            text = f"{about} differs in {fields}; weft inventory drift says more"
            found.append(Difference(kind, where, about, "as the inventory says", "different", text))
    if (more := len(inventory.plan.steps) - MOST) > 0:
        text = f"{more} more objects differ; weft inventory drift names them"
        found.append(Difference(kind, where, "objects", "as the inventory says", "different", text))
    return found
