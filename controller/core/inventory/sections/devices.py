"""`devices`: registered devices, and how DHCP knows them."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.dhcp_identity import DhcpIdentity, Identities
from controller.core.inventory.inventory import Inventory
from controller.core.inventory.kinds import DEVICES, Fields
from controller.core.inventory.sections.once import repeated
from controller.core.macs import mac_of
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import DocumentError


def read(_name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a device has; `data` is valid by the schema."""
    return {**_client(data), "vm": _client(data["vm"]) if "vm" in data else None}


def _client(data: Mapping[str, Any]) -> dict[str, Any]:
    mac = data.get("mac")
    return {"mac": stored(mac) if mac is not None else None, "client_id": data.get("client_id")}


def stored(mac: str) -> str:
    """Return a MAC as it is stored. A wrong one stays as it is."""
    try:
        return mac_of(mac)
    except ValueError:
        return mac


def wanted(fields: Fields) -> Identities:
    """Return the identities of a device as they are to be."""
    vm = fields["vm"]
    return Identities(
        DhcpIdentity(fields["mac"], fields["client_id"]),
        DhcpIdentity(vm["mac"], vm["client_id"]) if vm is not None else None,
    )


def fields_of(identities: Identities) -> dict[str, Any]:
    """Return the fields of a device with these identities."""
    md, vm = identities.md, identities.vm
    return {
        "mac": md.mac,
        "client_id": md.client_id,
        "vm": {"mac": vm.mac, "client_id": vm.client_id} if vm is not None else None,
    }


def errors(inventory: Inventory) -> Iterator[DocumentError]:
    """Yield errors about MACs that no interface has, and identities that two machines have."""
    for name, fields in inventory.of(DEVICES):
        here, both = (DEVICES, name), wanted(fields)
        yield from wrong_macs(inventory, [((*here, *path), mac) for path, mac in _macs(fields)])
        if both.vm is not None and both.md.clashes(both.vm):
            text = "the device and its VM cannot be known by the same mac or client_id"
            yield inventory.error((*here, "vm"), text)
    yield from repeated(inventory, DEVICES, "is the MAC", lambda _, fields: _macs(fields))
    yield from repeated(inventory, DEVICES, "is the client id", lambda _, fields: _client_ids(fields))


def wrong_macs(inventory: Inventory, macs: list[tuple[Path, str | None]]) -> Iterator[DocumentError]:
    """Yield errors about MACs, by their paths, that no interface has."""
    for path, mac in macs:
        try:
            mac_of(mac or "")
        except ValueError as error:
            if mac is not None:
                yield inventory.error(path, str(error))


def _macs(fields: Fields) -> list[tuple[Path, str | None]]:
    vm = fields["vm"] or {}
    return [(("mac",), fields["mac"]), (("vm", "mac"), vm.get("mac"))]


def _client_ids(fields: Fields) -> list[tuple[Path, str | None]]:
    vm = fields["vm"] or {}
    return [(("client_id",), fields["client_id"]), (("vm", "client_id"), vm.get("client_id"))]
