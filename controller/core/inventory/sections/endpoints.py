"""`endpoints`: cloudlets' LANs."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.addresses import AddressPlan, PlanError
from controller.core.intent import Intent
from controller.core.inventory.inventory import Inventory
from controller.core.inventory.kinds import CLOUDLETS, ENDPOINTS, Fields
from controller.core.inventory.sections import cloudlets
from controller.core.lan_prefixes import plan4, plan6, vni_of
from controller.core.objects import Endpoint
from controller.core.refusals import Refused
from controller.core.yaml_document.errors import DocumentError

_NOWHERE = Intent()


def read(_name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that an endpoint has; `data` is valid by the schema."""
    found = dict(data)
    if "ports" in data:
        found["ports"] = tuple(data["ports"])
    for field in {"prefix", "prefix6"} & data.keys():
        found[field] = _prefix(data[field])
    return found


def _prefix(text: str) -> str:
    """Return a prefix as it is stored. A wrong one stays as it is."""
    try:
        return str(AddressPlan.of(text).network)
    except PlanError:
        return text


def wanted(name: str, fields: Fields) -> Endpoint:
    """Return the endpoint as it is to be; site number, index and gateways are allotted later."""
    return Endpoint(name=name, site=0, index=0, gateway="", **fields)


def errors(inventory: Inventory) -> Iterator[DocumentError]:
    """Yield errors about prefixes that no LAN can have, and VNIs that do not fit the cloudlet's PE."""
    for name, fields in inventory.of(ENDPOINTS):
        try:
            plan4(_NOWHERE, fields["prefix"], ())
            if fields["prefix6"] is not None:
                plan6(fields["prefix6"], fields["mtu"])
            if (cloudlet := inventory.objects[CLOUDLETS].get(fields["cloudlet"])) is not None:
                vni_of(cloudlets.wanted(fields["cloudlet"], cloudlet), fields["vni"], ())
        except Refused as refused:
            yield inventory.refused(ENDPOINTS, name, refused)
