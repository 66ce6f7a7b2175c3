"""A NetBox as an inventory: the mapping that operators write, and the translation of NetBox's objects.

`parse` reads a mapping. `translate` makes the text of an inventory of a snapshot of a NetBox, or raises NotImportable
with every error, each with the object of NetBox that it is about."""

from controller.core.netbox.findings import Finding, NotImportable
from controller.core.netbox.mapping import Mapping, MappingInvalid, Section, default, parse
from controller.core.netbox.things import Noun, Snapshot, Thing
from controller.core.netbox.translation import Imported, translate

__all__ = [
    "Finding",
    "Imported",
    "Mapping",
    "MappingInvalid",
    "NotImportable",
    "Noun",
    "Section",
    "Snapshot",
    "Thing",
    "default",
    "parse",
    "translate",
]
