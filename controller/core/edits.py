"""Edits of the intent. All are pure: each raises Refused or returns the next intent. They leave the generation
alone."""

from collections.abc import Iterable
from dataclasses import replace

from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent, Vcp
from controller.core.lan_prefixes import check_gateway, plan4, plan6, vni_of
from controller.core.pools import check_join, check_lan
from controller.core.refusals import conflict, invalid, missing, unknown
from controller.core.sites import MAX_INDEX, allot
from controller.core.tenants import no_place
from controller.core.vteps import check_session, check_vtep, parse_vtep


def add_cloudlet(intent: Intent, cloudlet: Cloudlet, speakers: Iterable[str]) -> Intent:
    """Invite a cloudlet; one whose PE has no agent takes part at once. `speakers` are the route servers' addresses."""
    vtep = parse_vtep(cloudlet.vtep)
    if cloudlet.name in intent.cloudlets:
        raise conflict(f"there is a cloudlet {cloudlet.name!r} already", "name")
    check_vtep(intent, cloudlet.name, vtep, speakers)
    if intent.route_servers.get(cloudlet.name, str(vtep)) != str(vtep):
        where = intent.route_servers[cloudlet.name]
        raise conflict(f"{cloudlet.name} is a route server, and its host has the VTEP {where}", "name")
    _check_management(intent, cloudlet)
    state = CloudletState.ACTIVE if cloudlet.unmanaged else cloudlet.state
    return intent.with_cloudlet(replace(cloudlet, vtep=str(vtep), state=state))


def _check_management(intent: Intent, cloudlet: Cloudlet) -> None:
    check_session(cloudlet)
    if not cloudlet.unmanaged:
        if cloudlet.pe.routed:
            raise invalid("pe", f"agents build LANs, by VPLS and EVPN: a {cloudlet.pe} PE is unmanaged")
    elif intent.enrolled_only:
        text = "route servers accept no session from a PE without an agent, as WEFT_ENROLLED_ONLY is set"
        raise conflict(text, "unmanaged")
    elif cloudlet.name in intent.route_servers:
        raise conflict(f"{cloudlet.name} is the host of a route server, and has no PE", "unmanaged")


def set_state(intent: Intent, name: str, state: CloudletState) -> Intent:
    """Move a cloudlet to another state."""
    if name not in intent.cloudlets:
        raise missing("cloudlet", name, intent.cloudlets)
    return intent.with_cloudlet(replace(intent.cloudlets[name], state=state))


def enrol(intent: Intent, name: str, state: CloudletState, credential: str, key: str | None) -> Intent:
    """Move a cloudlet to another state, with a new credential and, if it is bound to one, the key."""
    if name not in intent.cloudlets:
        raise missing("cloudlet", name, intent.cloudlets)
    if intent.credentials.get(credential, name) != name:
        raise invalid("credential", "another cloudlet has it: make a new one")
    enrolled = replace(intent.cloudlets[name], state=state, credential=credential, key=key, revoked=False)
    return intent.with_cloudlet(enrolled)


def bind(intent: Intent, name: str, key: str) -> Intent:
    """Bind a cloudlet's credential to a key: it is valid only together with a certificate for that key."""
    if name not in intent.cloudlets:
        raise missing("cloudlet", name, intent.cloudlets)
    return intent.with_cloudlet(replace(intent.cloudlets[name], key=key))


def end_credential(intent: Intent, name: str) -> Intent:
    """End the credential of a cloudlet's agent, and the session of its PE. The cloudlet stays a member until an
    operator removes it, and takes part again when its agent has enrolled anew."""
    if name not in intent.cloudlets:
        raise missing("cloudlet", name, intent.cloudlets)
    return intent.with_cloudlet(replace(intent.cloudlets[name], credential=None, key=None, revoked=True))


def approve(intent: Intent, name: str) -> Intent:
    """Make a cloudlet active: one that waits for approval, one whose PE has no agent, or one that was drained."""
    if name in intent.cloudlets and intent.cloudlets[name].state is CloudletState.ACTIVE:
        raise conflict(f"{name} is active already")
    return set_state(intent, name, CloudletState.ACTIVE)


def drain(intent: Intent, name: str) -> Intent:
    """Take all endpoints of a cloudlet out of every VCP and keep them out."""
    if name in intent.cloudlets and intent.cloudlets[name].state not in (CloudletState.ACTIVE, CloudletState.DRAINING):
        raise conflict(f"{name} is {intent.cloudlets[name].state}: there is nothing to drain")
    intent = set_state(intent, name, CloudletState.DRAINING)
    for endpoint in intent.endpoints_of.get(name, ()):
        for vcp in intent.pools_of.get(endpoint.name, ()):
            intent = intent.without_member(vcp, endpoint.name)
    return intent


def remove_cloudlet(intent: Intent, name: str) -> Intent:
    """Remove a cloudlet and its endpoints, once none of them is in a VCP."""
    if name not in intent.cloudlets:
        raise missing("cloudlet", name, intent.cloudlets)
    for endpoint in intent.endpoints_of.get(name, ()):
        if pools := sorted(intent.pools_of.get(endpoint.name, ())):
            raise conflict(f"{endpoint.name} is a member of {', '.join(pools)}: drain {name} first")
    return intent.without_cloudlet(name)


def add_endpoint(intent: Intent, endpoint: Endpoint, speakers: Iterable[str], asn: int = 64512) -> Intent:
    """Give a cloudlet a LAN. Site number and index are allotted here; an empty gateway means the plan's own, and the
    IPv6 gateway is always the plan's own. `asn` is the region's AS number: a long one leaves less room for site
    numbers."""
    if endpoint.name in intent.endpoints:
        raise conflict(f"there is an endpoint {endpoint.name!r} already", "name")
    if endpoint.cloudlet not in intent.cloudlets:
        raise unknown("cloudlet", "cloudlet", endpoint.cloudlet, intent.cloudlets)
    cloudlet = intent.cloudlets[endpoint.cloudlet]
    if intent.is_host(cloudlet):
        raise conflict(f"{cloudlet.name} is the host of a route server, and has no PE", "cloudlet")
    if cloudlet.state is CloudletState.DRAINING:
        raise conflict(f"cloudlet {cloudlet.name} is draining", "cloudlet")
    if refused := no_place(intent.policy, endpoint.tenant, cloudlet):
        raise conflict(refused, "tenant")
    plan = plan4(intent, endpoint.prefix, speakers)
    check_gateway(plan, endpoint.gateway)
    check_lan(intent, cloudlet.name, plan.network, "prefix")
    six = plan6(endpoint.prefix6, endpoint.mtu) if endpoint.prefix6 is not None else None
    if six is not None:
        check_lan(intent, cloudlet.name, six.network, "prefix6")
    siblings = intent.endpoints_of.get(cloudlet.name, ())
    return intent.with_endpoint(
        replace(
            endpoint,
            site=intent.sites.next(cloudlet.pe, asn),
            index=allot([e.index for e in siblings], MAX_INDEX, f"endpoint indexes of {cloudlet.name}"),
            prefix=str(plan.network),
            gateway=str(plan.gateway),
            prefix6=str(six.network) if six else None,
            gateway6=str(six.gateway) if six else None,
            vni=vni_of(cloudlet, endpoint.vni, siblings),
        )
    )


def remove_endpoint(intent: Intent, name: str) -> Intent:
    """Remove an endpoint, out of every VCP too."""
    if name not in intent.endpoints:
        raise missing("endpoint", name, intent.endpoints)
    return intent.without_endpoint(name)


def add_vcp(intent: Intent, vcp: Vcp) -> Intent:
    """Add a pool without members."""
    if vcp.name in intent.vcps:
        raise conflict(f"there is a VCP {vcp.name!r} already", "name")
    return intent.with_vcp(vcp)


def remove_vcp(intent: Intent, name: str) -> Intent:
    """Remove a pool once it has no members."""
    if name not in intent.vcps:
        raise missing("VCP", name, intent.vcps)
    if members := sorted(intent.vcps[name].members):
        raise conflict(f"{name} has members ({', '.join(members)}); they must leave first")
    return intent.without_vcp(name)


def join(intent: Intent, vcp: str, endpoint: str) -> Intent:
    """Make an endpoint a member of a pool."""
    check_join(intent, vcp, endpoint)
    return intent.with_member(vcp, endpoint)


def leave(intent: Intent, vcp: str, endpoint: str) -> Intent:
    """Take an endpoint out of a pool."""
    if vcp not in intent.vcps:
        raise missing("VCP", vcp, intent.vcps)
    if endpoint not in intent.vcps[vcp].members:
        raise missing(f"member of {vcp}", endpoint, intent.vcps[vcp].members)
    return intent.without_member(vcp, endpoint)
