"""The inventory that was applied last. If this release cannot read it, there is none to compare with."""

import asyncio
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.inventory import Inventory, InventoryInvalid, parse
from controller.core.yaml_document.errors import DocumentError
from controller.db.inventories import INVENTORIES, InventoryRow


@dataclass(frozen=True)
class LastApplied:
    """The inventory and its row in the database. `trouble`: why its text cannot be read."""

    inventory: Inventory | None = None
    row: InventoryRow | None = None
    trouble: tuple[DocumentError, ...] = ()

    @property
    def names(self) -> dict[str, list[str]]:
        """The names of its objects, by section."""
        return self.row.names if self.row else {}


class Inventories:
    """Reads the inventory that was applied last. Each text is parsed once."""

    def __init__(self) -> None:
        self._last = LastApplied()

    async def load(self, session: AsyncSession) -> LastApplied:
        """Return the latest inventory that was not withdrawn."""
        row = await INVENTORIES.latest(session)
        if row is None:
            self._last = self._last if self._last.row is None else LastApplied()
        elif self._last.row is None or (self._last.row.id, self._last.row.text) != (row.id, row.text):
            try:
                self._last = LastApplied(await asyncio.to_thread(parse, row.text, row.filename), row)
            except InventoryInvalid as invalid:
                self._last = LastApplied(None, row, invalid.errors)
        return self._last
