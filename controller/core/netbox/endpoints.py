"""Prefixes as endpoints: an IPv4 prefix of a site, with the IPv6 prefix of the same VLAN or name, and the ports of the
site's PE in that VLAN."""

from dataclasses import dataclass, field
from typing import Any

from controller.core.inventory.kinds import ENDPOINTS
from controller.core.netbox import cloudlets
from controller.core.netbox.book import Book, Draft
from controller.core.netbox.mapping import Mapping, Section
from controller.core.netbox.things import Noun, Snapshot, Thing, text


@dataclass
class Lan:
    """The prefixes of one endpoint, and the site that they are at."""

    site: Thing
    prefixes: list[Thing] = field(default_factory=list)
    prefixes6: list[Thing] = field(default_factory=list)


def draft(book: Book, snapshot: Snapshot, mapping: Mapping) -> None:
    """Draft an endpoint of each IPv4 prefix."""
    of = mapping.endpoints
    pes = cloudlets.pes_of(snapshot, mapping.cloudlets)
    for proposed, lan in _lans(book, snapshot, mapping).items():
        _repeated(book, lan, of)
        if lan.site not in book.names:
            continue  # the error about its site says enough
        if not lan.prefixes:
            _alone(book, lan.prefixes6[0], of)
            continue
        prefix = lan.prefixes[0]
        one = book.draft(ENDPOINTS, prefix, of, proposed)
        if one is None:
            continue
        one.set("cloudlet", book.names[lan.site], "its scope")
        one.set("prefix", str(prefix.content.get("prefix")), "it")
        if lan.prefixes6:
            one.set("prefix6", str(lan.prefixes6[0].content.get("prefix")), "it", lan.prefixes6[0])
        for name in ("vni", "mtu", "lease_seconds", "max_routes"):
            one.take(name, cloudlets.number)
        _ports(one, snapshot, pes.get(lan.site.id, ()))
        _tenant(one)


def _lans(book: Book, snapshot: Snapshot, mapping: Mapping) -> dict[str, Lan]:
    """Return the prefixes by the name that their endpoint is to have."""
    found: dict[str, Lan] = {}
    for prefix in snapshot.prefixes:
        of = mapping.endpoints
        if of.vrfs and text(prefix.content.get("vrf")) not in of.vrfs:
            continue
        site = _site(book, snapshot, prefix, mapping.cloudlets)
        if site is None:
            continue
        vlan = prefix.content.get("vlan")
        lan = f"vlan{vlan.get('vid')}" if isinstance(vlan, dict) else "lan"
        cloudlet = book.names.get(site) or str(site.content.get("slug") or site.id)
        proposed = text(prefix.custom(of.custom_field("name"))) or f"{cloudlet}-{lan}"
        one = found.setdefault(proposed, Lan(site))
        if one.site != site:
            message = f"its name {proposed} is that of an endpoint at site {one.site.name} ({one.site.url})"
            book.wrong(prefix, message, f"{prefix.fill(of.custom_field('name'))} with another name")
            continue
        (one.prefixes6 if _is_six(prefix) else one.prefixes).append(prefix)
    return found


def _site(book: Book, snapshot: Snapshot, prefix: Thing, sites: Section) -> Thing | None:
    """Return the imported site that a prefix is at; None without one, which is noted."""
    kind, number = _scope(prefix)
    if kind == "dcim.location":
        place = snapshot.by_id.get((Noun.LOCATION, number or 0))
        kind, number = ("dcim.site", place.id_of("site")) if place else (kind, number)
    if kind != "dcim.site" or number is None:
        where = f"its scope is {text(prefix.content.get('scope'))} ({kind})" if kind else "it has no scope"
        book.wrong(prefix, f"{where}, so its cloudlet is not known", "scope it to a site or a location")
        return None
    site = snapshot.by_id.get((Noun.SITE, number))
    if site is None:
        wanted = [
            f"tag {' or '.join(sites.tags)}",
            *([f"status {' or '.join(sites.statuses)}"] if sites.statuses else []),
        ]
        remedy = f"give that site the {' and the '.join(wanted)}, or do not select the prefix"
        book.wrong(prefix, f"its site {_site_name(prefix)} is not imported", remedy)
    return site


def _scope(prefix: Thing) -> tuple[str, int | None]:
    """Return the type and id of the object that a prefix belongs to; before NetBox 4.2 that is a site."""
    if "scope_type" in prefix.content:
        number = prefix.content.get("scope_id")
        return str(prefix.content.get("scope_type") or ""), None if number is None else int(number)
    site = prefix.id_of("site")
    return ("dcim.site" if site is not None else ""), site


def _site_name(prefix: Thing) -> str:
    found: Any = prefix.content.get("scope") or prefix.content.get("site") or {}
    return f"{text(found)} ({found.get('display_url') or found.get('url')})"


def _is_six(prefix: Thing) -> bool:
    return ":" in str(prefix.content.get("prefix"))


def _repeated(book: Book, lan: Lan, of: Section) -> None:
    """Note prefixes of one family that would be one endpoint."""
    for family, prefixes in (("IPv4", lan.prefixes), ("IPv6", lan.prefixes6)):
        for other in prefixes[1:]:
            message = (
                f"it would be the second {family} prefix of one endpoint, with {prefixes[0].name} ({prefixes[0].url})"
            )
            remedy = f"give one of them another VLAN, or {other.fill(of.custom_field('name'))} with another name"
            book.wrong(other, message, remedy)


def _alone(book: Book, prefix6: Thing, of: Section) -> None:
    message = "no IPv4 prefix of its site and VLAN is imported, and an endpoint has one"
    remedy = f"select that too, with the same custom field {of.custom_field('name')} if it has one, or untag this one"
    book.wrong(prefix6, message, remedy)


def _ports(one: Draft, snapshot: Snapshot, pes: tuple[Thing, ...]) -> None:
    """Set the access ports: those of the custom field, or else the enabled interfaces of the PE whose untagged VLAN is
    the prefix's, and the prefix's VLAN of those that carry it with a tag."""
    if one.take("ports", _listed):
        return
    vlan = one.thing.id_of("vlan")
    interfaces = [each for pe in pes for each in snapshot.interfaces_of.get(pe.id, ())]
    ports = sorted(port for each in interfaces if vlan is not None and (port := _port(each, vlan)) is not None)
    if ports:
        one.set(
            "ports", ports, f"the names of its PE's interfaces in that VLAN, or fill {one.of.custom_field('ports')}"
        )


def _port(interface: Thing, vlan: int) -> str | None:
    """Return the access port by which an interface is in a VLAN, or None."""
    content = interface.content
    if content.get("mgmt_only") or not content.get("enabled", True) or interface.noun is not Noun.INTERFACE:
        return None
    if interface.id_of("untagged_vlan") == vlan:
        return str(content.get("name"))
    tagged = (each for each in content.get("tagged_vlans") or () if each.get("id") == vlan)
    return next((f"{content.get('name')}.{each.get('vid')}" for each in tagged), None)


def _listed(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text(each) for each in value]
    return [part.strip() for part in text(value).split(",") if part.strip()]


def _tenant(one: Draft) -> None:
    if not one.take("tenant", text) and (slug := one.thing.slug("tenant")):
        one.set("tenant", slug.lower().replace("_", "-"), "the slug of its tenant")
