"""Values that only one object of a section can have."""

from collections.abc import Callable, Iterable, Iterator

from controller.core.inventory.inventory import Inventory
from controller.core.inventory.kinds import Fields
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import DocumentError

Values = Callable[[str, Fields], Iterable[tuple[Path, str | None]]]
"""The values of an object that no other has, each with the path of its field; None for no value."""


def repeated(inventory: Inventory, section: str, what: str, values: Values) -> Iterator[DocumentError]:
    """Yield errors about values that an earlier object of the section has. `what` is between the value and its
    owner's name."""
    owners: dict[str, str] = {}
    for name, fields in inventory.of(section):
        for path, value in values(name, fields):
            if value is not None and (owner := owners.setdefault(value, name)) != name:
                yield inventory.error((section, name, *path), f"{value} {what} of {owner}")
