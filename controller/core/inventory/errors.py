"""The refusal of an inventory."""

from controller.core.yaml_document.errors import DocumentInvalid


class InventoryInvalid(DocumentInvalid):
    """An inventory that is refused."""

    noun = "inventory"
