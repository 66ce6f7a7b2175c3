"""An inventory with the places in its text, so that later errors can still be shown at their place."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from controller.core.inventory.kinds import KINDS, Fields, Objects
from controller.core.refusals import Refused
from controller.core.yaml_document.document import Path, field_name
from controller.core.yaml_document.errors import DocumentError
from controller.core.yaml_document.placed import Placed


@dataclass(frozen=True)
class Inventory(Placed):
    """An inventory without errors in itself; `controller.core.inventories` compares it with a region. `objects` has all
    sections, and all fields of each object."""

    objects: Objects

    def of(self, section: str) -> Iterator[tuple[str, Fields]]:
        """Yield the objects of a section, by name."""
        yield from sorted(self.objects[section].items())

    def refused(self, section: str, name: str, refused: Refused) -> DocumentError:
        """Return the error that an object is refused. One about no field of the file names the object."""
        here: Path = (section, name)
        field = tuple(refused.field.split(".")) if refused.field else ()
        while field and not self.has((*here, *field)):
            field = field[:-1]
        message = refused.message if field else f"{KINDS[section].noun} {name}: {refused.message}"
        if not self.has(here):  # it is to be removed
            return replace(self.error((section,), message), field=field_name(here))
        return self.error((*here, *field), message, refused.suggestion)
