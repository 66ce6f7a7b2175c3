"""Inventories, as operators write them in `inventory.yaml`: the cloudlets, endpoints, devices and VMs of a region.

`parse` reads text and reports every error it finds, each with its place in the file. `controller.core.inventories`
compares an inventory with a region."""

from controller.core.inventory.errors import InventoryInvalid
from controller.core.inventory.inventory import Inventory
from controller.core.inventory.kinds import KINDS, Fields, Objects, named
from controller.core.inventory.parse import parse

__all__ = ["KINDS", "Fields", "Inventory", "InventoryInvalid", "Objects", "named", "parse"]
