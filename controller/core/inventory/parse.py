"""The conversion of text to an inventory: the document, its form, its sections, and the errors between them."""

from itertools import islice
from typing import Any

from controller.core.inventory.errors import InventoryInvalid
from controller.core.inventory.inventory import Inventory
from controller.core.inventory.kinds import CLOUDLETS, DEVICES, ENDPOINTS, KINDS, VMS
from controller.core.inventory.sections import cloudlets, devices, endpoints, vms
from controller.core.yaml_document.document import Limits
from controller.core.yaml_document.errors import MAX_ERRORS
from controller.core.yaml_document.form import Form

FORM = Form("an inventory", "inventory.schema.json", InventoryInvalid, Limits(4 * 1024 * 1024, 500_000))
SECTIONS: dict[str, Any] = {CLOUDLETS: cloudlets, ENDPOINTS: endpoints, DEVICES: devices, VMS: vms}


def parse(text: str, filename: str) -> Inventory:
    """Return the inventory in `text`; `filename` is for messages only. Raises InventoryInvalid with every error: those
    of form, and for sections with the right form, contradictions in the content."""
    document = FORM.read(text, filename)
    wrong = FORM.violations(document, filename)
    if len(wrong) >= MAX_ERRORS:
        raise InventoryInvalid(wrong)  # there may be more, in any section
    data: Any = document.data if isinstance(document.data, dict) else {}
    bad = {error.field.partition(".")[0].partition("[")[0] for error in wrong}
    given = {name: data.get(name, {}) if name not in bad else {} for name in SECTIONS}
    objects = {
        name: {key: KINDS[name].filled(section.read(key, given[name][key])) for key in sorted(given[name])}
        for name, section in SECTIONS.items()
    }
    inventory = Inventory(filename, objects, document=document)
    found = (error for section in SECTIONS.values() for error in section.errors(inventory))
    if errors := [*wrong, *islice(found, MAX_ERRORS)]:
        raise InventoryInvalid(errors)
    return inventory
