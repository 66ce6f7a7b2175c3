"""Sites as cloudlets. The VTEP is a custom field's value, or the primary IPv4 address of the site's PE."""

from collections.abc import Mapping
from typing import Any

from controller.core.inventory.kinds import CLOUDLETS
from controller.core.netbox.book import Book, Draft
from controller.core.netbox.mapping import Section
from controller.core.netbox.things import Snapshot, Thing, text


def draft(book: Book, snapshot: Snapshot, of: Section) -> None:
    """Draft a cloudlet of each site."""
    pes = pes_of(snapshot, of)
    for site in snapshot.sites:
        one = book.draft(CLOUDLETS, site, of, str(site.content.get("slug") or ""))
        if one is None:
            continue
        if not one.take("pe", text):
            remedy = (
                f"{one.fill('pe')} (vpls, evpn, vpnv4 or vpnv6), or set pe in `defaults` of the mapping's cloudlets"
            )
            one.wrong("pe", "it has no kind of PE", remedy)
        if not one.take("vtep", _address):
            _vtep_of_pe(one, pes.get(site.id, ()))
        for field in ("unmanaged", "asn", "ttl_security", "approval"):
            one.take(field, number if field in ("asn", "ttl_security") else _itself)
        _place(one)
        _labels(one)


def pes_of(snapshot: Snapshot, of: Section) -> Mapping[int, tuple[Thing, ...]]:
    """Return the PEs of each site, by its id."""
    found: dict[int, tuple[Thing, ...]] = {}
    for device in snapshot.devices:
        site = device.id_of("site")
        if site is not None and is_pe(device, of) and (not of.statuses or device.status in of.statuses):
            found[site] = (*found.get(site, ()), device)
    return found


def is_pe(device: Thing, of: Section) -> bool:
    """Return whether a device is a PE, and therefore not a device of Weft's."""
    return device.slug("role") in of.vtep_roles


def _vtep_of_pe(one: Draft, pes: tuple[Thing, ...]) -> None:
    field = one.of.custom_field("vtep")
    fill = one.fill("vtep")
    roles = " or ".join(one.of.vtep_roles)
    if not pes:
        where = f", and no device of role {roles}" if roles else ""
        remedy = f"{fill}, or give its PE that role and a primary IPv4 address" if roles else fill
        one.wrong("vtep", f"it has no VTEP: no custom field {field}{where}", remedy)
    elif len(pes) > 1:
        names = ", ".join(f"{pe.name} ({pe.url})" for pe in pes)
        one.wrong("vtep", f"it has {len(pes)} devices of role {roles}, and a cloudlet has one PE: {names}", fill)
    elif not (address := text(pes[0].content.get("primary_ip4"))):
        message = f"it has no primary IPv4 address, which would be the VTEP of {one.name}"
        one.wrong("vtep", message, f"give it one, or in the site {fill}", pes[0])
    else:
        one.set("vtep", address, "its primary IPv4 address", pes[0])


def _place(one: Draft) -> None:
    place = {key: one.thing.content.get(key) for key in ("latitude", "longitude")}
    missing = [key for key, value in place.items() if value is None]
    if len(missing) == 1:
        given = next(key for key in place if key not in missing)
        one.wrong(missing[0], f"it has a {given} and no {missing[0]}", "a place has both: fill in the other")
    elif not missing:
        for key, value in place.items():
            one.set(key, _degrees(value), f"its {key}")


def _degrees(value: Any) -> Any:
    """Return degrees as a number: releases with other settings send decimals as text."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _labels(one: Draft) -> None:
    found = {label: value for label, source in one.of.labels.items() if (value := _source(one.thing, source))}
    if found:
        one.set("labels", found, "the property that the label stands for (`labels` of the mapping's cloudlets)")


def _source(site: Thing, source: str) -> str:
    kind, _, name = source.partition(".")
    match kind:
        case "tag":
            return "true" if name in site.tags else ""
        case "cf":
            value = site.custom(name)
            return str(value).lower() if isinstance(value, bool) else text(value)
        case "region" | "group" | "tenant":
            return site.slug(kind)
    return text(site.content.get(kind))


def _address(value: Any) -> str:
    """Return an address that a custom field holds, as text, with a mask or without, or as an object."""
    return text(value).partition("/")[0]


def number(value: Any) -> Any:
    """Return a number that a custom field holds, also as text, or as an ASN; another value stays as it is."""
    said = text(value)
    return int(said) if said.isdecimal() and len(said) < 16 else value


def _itself(value: Any) -> Any:
    return value
