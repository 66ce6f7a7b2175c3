"""Inventories as texts, and the parser's errors in one."""

from pathlib import Path

import pytest

from controller.core.inventory import Inventory, InventoryInvalid, parse

POLICIES = Path(__file__).parents[3] / "policies"
EXAMPLES = sorted((POLICIES / "inventories").glob("*.yaml"))
HEAD = "apiVersion: weft/inventory/v1\n"
REGION = f"""{HEAD}cloudlets:
  c1: {{pe: vpls, vtep: 192.0.2.1}}
  c2: {{pe: evpn, vtep: 192.0.2.2, labels: {{city: turin}}}}
endpoints:
  c1-lan: {{cloudlet: c1, prefix: 10.1.0.0/24}}
  c2-lan: {{cloudlet: c2, prefix: 10.2.0.0/24, vni: 10000}}
devices:
  m1: {{mac: '02:00:5e:00:00:01'}}
vms:
  web: {{device: m1, endpoint: c1-lan, image: debian, memory: 512M}}
"""


def read(text: str) -> Inventory:
    """Return the inventory in a text."""
    return parse(text, "i.yaml")


def errors(text: str) -> list[tuple[int, int, str, str]]:
    """Return line, column, field and message of each error, in the parser's order."""
    with pytest.raises(InventoryInvalid) as raised:
        parse(text, "i.yaml")
    assert all(error.file == "i.yaml" for error in raised.value.errors)
    return [(error.line, error.column, error.field, error.message) for error in raised.value.errors]
