"""`cloudlets`: edge sites, also those whose PE has no agent."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.inventory.inventory import Inventory
from controller.core.inventory.kinds import CLOUDLETS, Fields
from controller.core.inventory.sections.once import repeated
from controller.core.objects import Cloudlet
from controller.core.refusals import Refused
from controller.core.vteps import check_session, parse_vtep
from controller.core.yaml_document.errors import DocumentError
from controller.wire.flavours import Flavour


def read(_name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a cloudlet has; `data` is valid by the schema."""
    return dict(data)


def wanted(name: str, fields: Fields) -> Cloudlet:
    """Return the cloudlet as it is to be."""
    return Cloudlet(
        name,
        Flavour(fields["pe"]),
        fields["vtep"],
        labels=fields["labels"],
        latitude=fields["latitude"],
        longitude=fields["longitude"],
        unmanaged=fields["unmanaged"],
        asn=fields["asn"],
        ttl_security=fields["ttl_security"],
    )


def errors(inventory: Inventory) -> Iterator[DocumentError]:
    """Yield errors about fields that contradict each other, and VTEPs that two cloudlets have."""
    for name, fields in inventory.of(CLOUDLETS):
        here, cloudlet = (CLOUDLETS, name), wanted(name, fields)
        try:
            parse_vtep(cloudlet.vtep)
            check_session(cloudlet)
        except Refused as refused:
            yield inventory.refused(CLOUDLETS, name, refused)
        if cloudlet.pe.routed and not cloudlet.unmanaged:
            yield inventory.error(
                (*here, "pe"), f"agents build LANs, by VPLS and EVPN: a {cloudlet.pe} PE is unmanaged"
            )
        if cloudlet.unmanaged and fields["approval"]:
            text = f"the PE of {name} has no agent that could wait for approval"
            yield inventory.error((*here, "approval"), text)
        if (cloudlet.latitude is None) != (cloudlet.longitude is None):
            given = "latitude" if cloudlet.longitude is None else "longitude"
            yield inventory.error((*here, given), "a place has both latitude and longitude")
    yield from repeated(inventory, CLOUDLETS, "is the VTEP", lambda _, fields: [(("vtep",), fields["vtep"])])
