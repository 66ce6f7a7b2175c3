"""Alterations: changes of cloudlets and endpoints that exist. All are pure: each raises Refused or returns the next
intent. Several alterations are checked against the region in which all of them are made."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from controller.core.addresses import AddressPlan
from controller.core.consents import without_held
from controller.core.handovers import in_order
from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.core.lan_prefixes import check_gateway, plan4, plan6, vni_of
from controller.core.persistent_map import PersistentMap
from controller.core.pools import check_fit, check_lan
from controller.core.refusals import about, conflict, invalid, missing
from controller.core.tenants import no_place, no_pool
from controller.core.vteps import check_session, check_vtep, parse_vtep

Fields = Mapping[str, Any]
"""New values, by the field of a cloudlet or an endpoint."""

OF_CLOUDLETS = ("labels", "latitude", "longitude", "vtep", "asn", "ttl_security")
"""The fields of a cloudlet that can be altered."""

OF_ENDPOINTS = ("prefix", "prefix6", "ports", "vni", "mtu", "lease_seconds", "max_routes", "tenant")
"""The fields of an endpoint that can be altered. Its gateways follow from its prefixes, and a consent belongs to its
tenant."""

MOST_LABELS = 64


def alter_cloudlet(intent: Intent, name: str, fields: Fields, speakers: Iterable[str] = ()) -> Intent:
    """Give a cloudlet other values of `OF_CLOUDLETS`. `speakers` are the route servers' addresses."""
    return alter_cloudlets(intent, {name: fields}, speakers)


def alter_cloudlets(intent: Intent, altered: Mapping[str, Fields], speakers: Iterable[str] = ()) -> Intent:
    """Alter several cloudlets. One may take the VTEP that another gives up; two cannot exchange theirs."""
    was, after = intent.cloudlets, dict[str, Cloudlet]()
    for name, fields in altered.items():
        with about(name):
            after[name] = _cloudlet(intent, name, fields)
    speakers = tuple(speakers)
    for name in in_order(after, lambda name: was[name].vtep, lambda name: after[name].vtep):
        with about(name):
            intent = _placed(intent, was[name], after[name], speakers)
    return intent


def _placed(intent: Intent, before: Cloudlet, wanted: Cloudlet, speakers: Iterable[str]) -> Intent:
    """Return the intent with an altered cloudlet, whose VTEP no other may have."""
    if wanted.vtep != before.vtep:
        if intent.is_host(before):
            raise conflict(f"{before.name} is the host of a route server, and has its address", "vtep")
        vtep = parse_vtep(wanted.vtep)
        check_vtep(intent, before.name, vtep, speakers)
        if intent.route_servers.get(before.name) == str(vtep) and intent.endpoints_of.get(before.name):
            text = f"{vtep} is the address of route server {before.name}, whose host has no endpoints"
            raise conflict(text, "vtep")
        wanted = replace(wanted, vtep=str(vtep))
    return intent if wanted == before else intent.with_cloudlet(wanted)


def _cloudlet(intent: Intent, name: str, fields: Fields) -> Cloudlet:
    if name not in intent.cloudlets:
        raise missing("cloudlet", name, intent.cloudlets)
    after = replace(intent.cloudlets[name], **fields)
    if (after.latitude is None) != (after.longitude is None):
        raise invalid("latitude" if after.latitude is None else "longitude", "a place has both latitude and longitude")
    if len(after.labels) > MOST_LABELS:
        raise invalid("labels", f"{name} would have {len(after.labels)} labels; {MOST_LABELS} are allowed")
    check_session(after)
    return after


def alter_endpoint(intent: Intent, name: str, fields: Fields, speakers: Iterable[str] = ()) -> Intent:
    """Give an endpoint other values of `OF_ENDPOINTS`; `gateway` may only be the plan's own. With another tenant it
    waits for that tenant's consent, if it is needed, and leaves the pools where that tenant may not be. `speakers` are
    the route servers' addresses."""
    return alter_endpoints(intent, {name: fields}, speakers)


def alter_endpoints(intent: Intent, altered: Mapping[str, Fields], speakers: Iterable[str] = ()) -> Intent:
    """Alter several endpoints. They may exchange prefixes and VNIs."""
    speakers = tuple(speakers)
    after = dict[str, Endpoint]()
    for name, fields in altered.items():
        with about(name):
            after[name] = _endpoint(intent, name, fields, speakers)
    changed = {name: endpoint for name, endpoint in after.items() if endpoint != intent.endpoints[name]}
    if not changed:
        return intent
    before, intent = intent, intent.but(endpoints=PersistentMap.of(intent.endpoints).updated(changed))
    for name, endpoint in sorted(changed.items()):
        with about(name):
            intent = _among_others(intent, before.endpoints[name], endpoint)
    for name, endpoint in sorted(changed.items()):
        if _place(endpoint) != _place(before.endpoints[name]):
            for vcp in sorted(intent.pools_of.get(name, ())):
                with about(name):
                    check_fit(intent.without_member(vcp, name), vcp, endpoint)
    return intent


def _among_others(intent: Intent, was: Endpoint, now: Endpoint) -> Intent:
    """Check an altered endpoint beside the others, and return the intent without the pools that it leaves."""
    if (now.prefix, now.prefix6) != (was.prefix, was.prefix6):
        _check_prefixes(intent, was, now)
    if now.vni != was.vni:
        siblings = (e for e in intent.endpoints_of[now.cloudlet] if e.name != now.name)
        vni_of(intent.cloudlets[now.cloudlet], now.vni, siblings)
    return _of_other_tenant(intent, now) if now.tenant != was.tenant else intent


def _endpoint(intent: Intent, name: str, fields: Fields, speakers: Iterable[str]) -> Endpoint:
    """Return the altered endpoint, so far without a look at others."""
    if name not in intent.endpoints:
        raise missing("endpoint", name, intent.endpoints)
    before = intent.endpoints[name]
    after = replace(before, **{field: value for field, value in fields.items() if field != "gateway"})
    plan = AddressPlan.of(before.prefix)
    if after.prefix != before.prefix:
        plan = plan4(intent, after.prefix, speakers)
    check_gateway(plan, fields.get("gateway") or "")
    six = plan6(after.prefix6, after.mtu) if after.prefix6 is not None else None
    cloudlet = intent.cloudlets[after.cloudlet]
    if after.tenant != before.tenant and (refused := no_place(intent.policy, after.tenant, cloudlet)):
        raise conflict(refused, "tenant")
    return replace(
        after,
        prefix=str(plan.network),
        gateway=str(plan.gateway),
        prefix6=str(six.network) if six else None,
        gateway6=str(six.gateway) if six else None,
        vni=before.vni if after.vni == before.vni else vni_of(cloudlet, after.vni, ()),
        consented_by=before.consented_by if after.tenant == before.tenant else None,
    )


def _check_prefixes(intent: Intent, before: Endpoint, after: Endpoint) -> None:
    others = intent.without_endpoint(after.name)
    for field in ("prefix", "prefix6"):
        if (prefix := getattr(after, field)) is not None and prefix != getattr(before, field):
            check_lan(others, after.cloudlet, AddressPlan.of(prefix).network, field)


def _of_other_tenant(intent: Intent, endpoint: Endpoint) -> Intent:
    for vcp in sorted(intent.pools_of.get(endpoint.name, ())):
        if no_pool(intent.policy, endpoint, intent.vcps[vcp]):
            intent = intent.without_member(vcp, endpoint.name)
    return without_held(intent, [endpoint.name])


def _place(endpoint: Endpoint) -> tuple[str, str | None, int | None]:
    """Return the values that decide whether an endpoint fits beside others."""
    return endpoint.prefix, endpoint.prefix6, endpoint.vni


def described(was: Cloudlet | Endpoint, now: Cloudlet | Endpoint) -> str:
    """Return the altered values in words, empty if there are none."""
    names = OF_CLOUDLETS if isinstance(was, Cloudlet) else OF_ENDPOINTS
    pairs = ((name, getattr(was, name), getattr(now, name)) for name in names)
    return ", ".join(f"{name} {told(before)} → {told(after)}" for name, before, after in pairs if before != after)


def told(value: object) -> str:
    """Return a value of a cloudlet or an endpoint as users read it."""
    if isinstance(value, Mapping):
        return " ".join(f"{key}={value[key]}" for key in sorted(value)) or "none"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
