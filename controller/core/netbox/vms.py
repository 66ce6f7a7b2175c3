"""Virtual machines as VMs. NetBox knows their processors, memory, disk and MACs; custom fields tell the device, the
image and, if its site has several, the endpoint."""

from typing import Any

from controller.core.inventory.kinds import DEVICES, ENDPOINTS, VMS
from controller.core.netbox.book import Book, Draft
from controller.core.netbox.devices import mac_of
from controller.core.netbox.mapping import Section
from controller.core.netbox.things import Noun, Snapshot, Thing, text

_CALLED = {DEVICES: "device", ENDPOINTS: "endpoint"}
_PATHS = {"/dcim/devices/": Noun.DEVICE, "/ipam/ip-addresses/": Noun.ADDRESS, "/ipam/prefixes/": Noun.PREFIX}


def draft(book: Book, snapshot: Snapshot, of: Section) -> None:
    """Draft a VM of each virtual machine. Devices and endpoints are drafted before."""
    lans = _lans(book)
    for vm in snapshot.vms:
        one = book.draft(VMS, vm, of, str(vm.content.get("name") or ""))
        if one is None:
            continue
        _reference(one, DEVICES)
        if not _reference(one, ENDPOINTS, must=False):
            _endpoint_of_site(one, lans)
        if not one.take("image", text):
            remedy = f"{one.fill('image')}, or set image in `defaults` of the mapping's vms"
            one.wrong("image", "it has no boot image", remedy)
        for field in ("driver", "cpu", "check", "handover"):
            one.take(field, text)
        _sizes(one)
        _macs(one, snapshot.vm_interfaces_of.get(vm.id, ()))


def _reference(one: Draft, section: str, must: bool = True) -> bool:
    """Set the field that names an object of another section, by a custom field with its name or with the object of
    NetBox that it is. Return whether the custom field has a value."""
    field = _CALLED[section]
    custom = one.of.custom_field(field)
    value = one.thing.custom(custom)
    if value is None:
        if must:
            one.wrong(field, f"no {field} is given that it works for", one.fill(field))
        return False
    name = _named(one.book, section, value)
    if name in one.book.objects[section]:
        one.set(field, name, f"its custom field {custom}")
    else:
        remedy = f"select that {field} too, or correct the custom field {custom}"
        one.wrong(field, f"there is no {field} {text(value)} among the imported ones", remedy)
    return True


def _named(book: Book, section: str, value: Any) -> str:
    """Return the name in Weft of the object that a custom field names."""
    if isinstance(value, dict) and "id" in value:
        url = str(value.get("url"))
        thing = next((Thing(noun, value) for path, noun in _PATHS.items() if path in url), None)
        name = book.names.get(thing, "") if thing else ""
        return name if name in book.objects[section] else ""
    return text(value)


def _lans(book: Book) -> dict[int, list[str]]:
    """Return the endpoints of each imported site, by its id."""
    sites = {name: thing.id for thing, name in book.names.items() if thing.noun is Noun.SITE}
    found: dict[int, list[str]] = {number: [] for number in sites.values()}
    for name, fields in book.objects[ENDPOINTS].items():
        found[sites[fields["cloudlet"]]].append(name)
    return found


def _endpoint_of_site(one: Draft, lans: dict[int, list[str]]) -> None:
    site = one.thing.id_of("site")
    there = lans.get(site) if site is not None else None
    if there is not None and len(there) == 1:
        one.set("endpoint", there[0], "its site")
        return
    if there is None:
        said = "it has no site" if site is None else "its site is not imported"
    else:
        said = f"its site has {len(there) or 'no'} endpoints"
    one.wrong("endpoint", f"{said}, so its own is not known", one.fill("endpoint"))


def _sizes(one: Draft) -> None:
    content = one.thing.content
    if content.get("memory") is None:
        one.wrong("memory", "it has no memory", "fill in its memory (MB)")
    else:
        one.set("memory", f"{content['memory']}M", "its memory (MB)")
    if content.get("vcpus") is not None:
        number = float(content["vcpus"])
        if number.is_integer():
            one.set("vcpus", int(number), "its vCPUs")
        else:
            one.wrong("vcpus", f"it has {number:g} vCPUs, and a VM of Weft's has whole ones", "round its vCPUs")
    custom = one.of.custom_field("disk")
    if (base := text(one.thing.custom(custom))) and content.get("disk") is None:
        one.wrong("disk", "it has an image for its disk, and no disk", "fill in its disk (MB)")
    elif base:
        disk = {"base": base, "bytes": f"{content['disk']}M"}
        one.set("disk", disk, f"its custom field {custom}, or its disk (MB)")


def _macs(one: Draft, interfaces: tuple[Thing, ...]) -> None:
    """Set the MACs of both vNICs; without any, they are made of the VM's name."""
    macs = [mac for each in interfaces if (mac := mac_of(each))]
    if len(macs) == 2:
        one.set("macs", macs, "the MAC addresses of its interfaces")
    elif macs:
        remedy = "give MAC addresses to exactly two of its interfaces, or to none"
        one.wrong("macs", f"{len(macs)} of its interfaces have a MAC address, and a VM has two vNICs", remedy)
