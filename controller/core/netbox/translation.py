"""The translation of a snapshot of a NetBox to the text of an inventory, which passes the inventory's own check."""

from collections.abc import Mapping as Map
from dataclasses import dataclass

from controller.core.inventory import KINDS, InventoryInvalid
from controller.core.inventory import parse as parse_inventory
from controller.core.inventory.parse import FORM
from controller.core.netbox import cloudlets, devices, endpoints, vms
from controller.core.netbox.book import Book
from controller.core.netbox.findings import NotImportable
from controller.core.netbox.mapping import Mapping
from controller.core.netbox.things import Snapshot
from controller.core.yaml_document.form import VERSION
from controller.core.yaml_document.writing import CannotBeWritten, written


@dataclass(frozen=True)
class Imported:
    """The text of an inventory, and how many objects it has, by section."""

    text: str
    objects: Map[str, int]


def translate(snapshot: Snapshot, mapping: Mapping) -> Imported:
    """Return the inventory of a NetBox. The same NetBox gives the same text. Raises NotImportable with every error."""
    book = Book()
    cloudlets.draft(book, snapshot, mapping.cloudlets)
    endpoints.draft(book, snapshot, mapping)
    devices.draft(book, snapshot, mapping)
    vms.draft(book, snapshot, mapping.vms)
    if not snapshot.sites:
        tags = " or ".join(mapping.cloudlets.tags) or "none"
        states = " or ".join(mapping.cloudlets.statuses) or "any"
        remedy = "tag your sites, select others by a mapping, or let the token's user view sites"
        book.wrong(snapshot.whole, f"it shows no site with tag {tags} and status {states}", remedy)
    text = _text(book, snapshot)
    if book.findings:
        raise NotImportable(book.findings)
    return Imported(text, {section: len(named) for section, named in book.objects.items() if named})


def _text(book: Book, snapshot: Snapshot) -> str:
    """Return the text. Errors that the inventory's own check finds are noted: those of all objects, then those between
    the objects that are right in themselves, as the check does not compare objects beside wrong ones."""
    text = ""
    for _ in range(2):
        text = _written(book, snapshot)
        try:
            parse_inventory(text, snapshot.url)
        except InventoryInvalid as invalid:
            for error in invalid.errors:
                book.refused(error, snapshot.whole)
        if not book.findings:
            break
        book.drop_wrong()
    return text


def _written(book: Book, snapshot: Snapshot) -> str:
    sections = {
        section: {name: _ordered(section, fields) for name, fields in sorted(book.objects[section].items())}
        for section in KINDS
        if book.objects[section]
    }
    try:
        return HEAD + written({VERSION: FORM.version, **sections})
    except CannotBeWritten as error:
        book.wrong(snapshot.whole, str(error), "correct it")
    return HEAD + written({VERSION: FORM.version})


HEAD = "# Made of a NetBox by `weft inventory import netbox`: change NetBox, and import it again.\n"


def _ordered(section: str, fields: Map[str, object]) -> dict[str, object]:
    """Return the fields in the order of the inventory's reference."""
    kind = KINDS[section]
    return {key: fields[key] for key in (*kind.required, *kind.defaults) if key in fields}
