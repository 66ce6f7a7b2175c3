"""Inventories that were applied."""

from sqlalchemy import JSON
from sqlalchemy.orm import Mapped, mapped_column

from controller.db.applied_texts import AppliedText, AppliedTexts


class InventoryRow(AppliedText):
    """One row per applied inventory. `names` are those of its objects, by section: what a later inventory does not name
    any more is removed."""

    __tablename__ = "inventory_revisions"

    names: Mapped[dict[str, list[str]]] = mapped_column(JSON)


INVENTORIES = AppliedTexts(InventoryRow)
"""The inventories, of which the latest is in force."""
