"""Devices, and IP addresses without a device, as registered devices: how DHCP knows them."""

from typing import Any

from controller.core.inventory.kinds import DEVICES
from controller.core.netbox import cloudlets
from controller.core.netbox.book import Book, Draft
from controller.core.netbox.mapping import Mapping, Section
from controller.core.netbox.things import Noun, Snapshot, Thing, text

_INTERFACES = {"dcim.interface": Noun.INTERFACE, "virtualization.vminterface": Noun.VM_INTERFACE}
"""The kinds of interfaces that NetBox assigns IP addresses to."""


def draft(book: Book, snapshot: Snapshot, mapping: Mapping) -> None:
    """Draft a device of each selected device and IP address."""
    for device in snapshot.devices:
        if not _selected(device, mapping.devices) or cloudlets.is_pe(device, mapping.cloudlets):
            continue
        if one := book.draft(DEVICES, device, mapping.devices, str(device.content.get("name") or "")):
            _known_by(one, snapshot.interfaces_of.get(device.id, ()))
    for address in snapshot.addresses:
        host = str(address.content.get("dns_name") or "").partition(".")[0]
        if one := book.draft(DEVICES, address, mapping.addresses, host):
            _known_by(one, _interface_of(address, snapshot))


def _selected(thing: Thing, of: Section) -> bool:
    """Return whether a section selects an object, which may have been read for something else."""
    named = bool(thing.tags & set(of.tags)) or thing.slug("role") in of.roles
    return named and (not of.statuses or thing.status in of.statuses)


def _interface_of(address: Thing, snapshot: Snapshot) -> tuple[Thing, ...]:
    kind = _INTERFACES.get(str(address.content.get("assigned_object_type")))
    number = address.content.get("assigned_object_id")
    found = snapshot.by_id.get((kind, int(number))) if kind and number is not None else None
    return (found,) if found else ()


def _known_by(one: Draft, interfaces: tuple[Thing, ...]) -> None:
    """Set MAC and client id by the custom fields, or else the MAC by the interface that DHCP sees."""
    mac, client_id = one.take("mac", text), one.take("client_id", _hexadecimal)
    if not mac and not client_id:
        _mac_of(one, interfaces)
    vm = {key: _custom(one, f"vm_{key}") for key in ("mac", "client_id")}
    if given := {key: value for key, value in vm.items() if value}:
        fields = " and ".join(one.of.custom_field(f"vm_{key}") for key in given)
        one.set("vm", given, f"its custom field {fields}")


def _custom(one: Draft, field: str) -> str:
    return text(one.thing.custom(one.of.custom_field(field)))


def _hexadecimal(value: Any) -> str:
    return text(value).lower().replace(":", "")


def _mac_of(one: Draft, interfaces: tuple[Thing, ...]) -> None:
    candidates = [each for each in interfaces if mac_of(each) and not each.content.get("mgmt_only")]
    chosen = [each for each in candidates if each.tags & set(one.of.tags)] or candidates
    if len(chosen) == 1:
        one.set("mac", mac_of(chosen[0]), "its primary MAC address", chosen[0])
    elif chosen:
        names = ", ".join(each.name for each in chosen)
        remedy = f"tag the one that DHCP sees {' or '.join(one.of.tags)}, or {one.fill('mac')}"
        one.wrong("mac", f"{len(chosen)} of its interfaces have a MAC address: {names}", remedy)
    else:
        remedy = (
            f"give its interface a primary MAC address, or {one.fill('mac')}, or {one.of.custom_field('client_id')}"
        )
        one.wrong("mac", "neither a MAC address nor a client id tells how DHCP knows it", remedy)


def mac_of(interface: Thing) -> str:
    """Return the primary MAC address of an interface, or its only one; empty without."""
    if primary := text(interface.content.get("mac_address")):
        return primary
    others = list(interface.content.get("mac_addresses") or ())
    return text(others[0]) if len(others) == 1 else ""
