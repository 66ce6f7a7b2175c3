"""Edits of the intent. All are pure: each raises Refused or returns the next intent. They leave the generation
alone."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address

from controller.core.addresses import MIN_MTU6, AddressPlan, PlanError
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent, Vcp
from controller.core.pools import check_join, check_lan
from controller.core.refusals import conflict, invalid, missing, unknown
from controller.core.sites import MAX_INDEX, allot
from controller.core.tenants import no_place
from controller.wire.flavours import Flavour

DEFAULT_VNI = 10000


def add_cloudlet(intent: Intent, cloudlet: Cloudlet, speakers: Iterable[str]) -> Intent:
    """Invite a cloudlet; one whose PE has no agent takes part at once. `speakers` are the route servers' addresses. A
    VTEP may be one of them only if the cloudlet is the host of that route server and has its name."""
    try:
        vtep = IPv4Address(cloudlet.vtep)
    except ValueError:
        raise invalid("vtep", f"{cloudlet.vtep!r} is not an IPv4 address") from None
    if vtep.is_unspecified or vtep.is_multicast or vtep == IPv4Address("255.255.255.255"):
        raise invalid("vtep", f"{vtep} is not an address that a host can have")
    if cloudlet.name in intent.cloudlets:
        raise conflict(f"there is a cloudlet {cloudlet.name!r} already", "name")
    if owner := intent.vteps.owner(str(vtep)):
        raise conflict(f"{vtep} is the VTEP of cloudlet {owner}", "vtep")
    server = next((name for name, address in intent.route_servers.items() if address == str(vtep)), None)
    if (server is not None or str(vtep) in set(speakers)) and server != cloudlet.name:
        whose = (
            f"the address of route server {server}: its host has that name" if server else "a route server's address"
        )
        raise conflict(f"{vtep} is {whose}", "vtep")
    if intent.route_servers.get(cloudlet.name, str(vtep)) != str(vtep):
        where = intent.route_servers[cloudlet.name]
        raise conflict(f"{cloudlet.name} is a route server, and its host has the VTEP {where}", "name")
    for name in intent.lans.around(vtep):
        raise conflict(f"{vtep} is inside {intent.endpoints[name].prefix}, the LAN of {name}", "vtep")
    _check_management(intent, cloudlet)
    state = CloudletState.ACTIVE if cloudlet.unmanaged else cloudlet.state
    return intent.with_cloudlet(replace(cloudlet, vtep=str(vtep), state=state))


def _check_management(intent: Intent, cloudlet: Cloudlet) -> None:
    if not cloudlet.unmanaged:
        for field in ("asn", "ttl_security"):
            if getattr(cloudlet, field) is not None:
                raise invalid(field, f"only an unmanaged PE has its own: an agent configures the PE of {cloudlet.name}")
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


def describe(
    intent: Intent,
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    position: tuple[float | None, float | None] | None = None,
) -> Intent:
    """Set a cloudlet's labels, its position, or both. A position is latitude and longitude in WGS-84 degrees, or
    neither."""
    if name not in intent.cloudlets:
        raise missing("cloudlet", name, intent.cloudlets)
    cloudlet = intent.cloudlets[name]
    latitude, longitude = (cloudlet.latitude, cloudlet.longitude) if position is None else position
    if (latitude is None) != (longitude is None):
        raise invalid("latitude" if latitude is None else "longitude", "a place has both latitude and longitude")
    described = replace(
        cloudlet, labels=cloudlet.labels if labels is None else labels, latitude=latitude, longitude=longitude
    )
    return intent if described == cloudlet else intent.with_cloudlet(described)


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
    plan = _plan(intent, endpoint.prefix, speakers)
    if endpoint.gateway and endpoint.gateway != str(plan.gateway):
        raise invalid("gateway", f"the gateway of {plan.network} is {plan.gateway}, the first address of the plan")
    check_lan(intent, cloudlet.name, plan.network, "prefix")
    plan6 = _plan6(intent, cloudlet.name, endpoint) if endpoint.prefix6 is not None else None
    siblings = intent.endpoints_of.get(cloudlet.name, ())
    return intent.with_endpoint(
        replace(
            endpoint,
            site=intent.sites.next(cloudlet.pe, asn),
            index=allot([e.index for e in siblings], MAX_INDEX, f"endpoint indexes of {cloudlet.name}"),
            prefix=str(plan.network),
            gateway=str(plan.gateway),
            prefix6=str(plan6.network) if plan6 else None,
            gateway6=str(plan6.gateway) if plan6 else None,
            vni=_vni(cloudlet, endpoint.vni, siblings),
        )
    )


def _plan(intent: Intent, prefix: str, speakers: Iterable[str]) -> AddressPlan:
    try:
        plan = AddressPlan.of(prefix)
    except PlanError as error:
        raise invalid("prefix", str(error)) from None
    lan = plan.network
    if not isinstance(lan, IPv4Network):
        raise invalid("prefix", f"{lan} is IPv6; a LAN's prefix is IPv4, and prefix6 its IPv6 one")
    if lan.prefixlen < 8:
        raise invalid("prefix", f"{lan} is larger than a /8")
    for what, reserved in _RESERVED.items():
        if lan.overlaps(reserved):
            raise invalid("prefix", f"{lan} is in {reserved} ({what}), where no LAN can be")
    if vtep := intent.vteps.inside(lan):
        raise conflict(f"{lan} contains {vtep}, the VTEP of cloudlet {intent.vteps.owner(vtep)}", "prefix")
    for address in speakers:
        if ip_address(address) in lan:
            raise conflict(f"{lan} contains {address}, a route server's address", "prefix")
    return plan


def _plan6(intent: Intent, cloudlet: str, endpoint: Endpoint) -> AddressPlan:
    """Return the IPv6 plan beside the IPv4 one."""
    try:
        plan = AddressPlan.of(endpoint.prefix6 or "")
    except PlanError as error:
        raise invalid("prefix6", str(error)) from None
    lan = plan.network
    if not isinstance(lan, IPv6Network):
        raise invalid("prefix6", f"{lan} is IPv4; a LAN's prefix6 is IPv6")
    if lan.prefixlen < 64:
        raise invalid("prefix6", f"{lan} is larger than a /64")
    for what, reserved in _RESERVED6.items():
        if lan.overlaps(reserved):
            raise invalid("prefix6", f"{lan} is in {reserved} ({what}), where no LAN can be")
    if endpoint.mtu < MIN_MTU6:
        raise invalid("mtu", f"IPv6 needs {MIN_MTU6} bytes or more, not {endpoint.mtu}")
    check_lan(intent, cloudlet, lan, "prefix6")
    return plan


_RESERVED6 = {
    "unspecified, loopback and IPv4 addresses": IPv6Network("::/8"),
    "link-local": IPv6Network("fe80::/10"),
    "site-local": IPv6Network("fec0::/10"),
    "multicast": IPv6Network("ff00::/8"),
}

_RESERVED = {
    "this network": IPv4Network("0.0.0.0/8"),
    "loopback": IPv4Network("127.0.0.0/8"),
    "link-local": IPv4Network("169.254.0.0/16"),
    "multicast": IPv4Network("224.0.0.0/4"),
    "reserved": IPv4Network("240.0.0.0/4"),
}


def _vni(cloudlet: Cloudlet, vni: int | None, siblings: Iterable[Endpoint]) -> int | None:
    if cloudlet.pe is not Flavour.EVPN:
        if vni is not None and cloudlet.pe.routed:
            raise invalid("vni", f"{cloudlet.name} is a {cloudlet.pe} PE: its routes have labels of its own")
        if vni is not None:
            raise invalid("vni", f"{cloudlet.name} is a VPLS PE: its VNIs are labels, and follow from index and VE ID")
        return None
    chosen = DEFAULT_VNI if vni is None else vni
    for other in siblings:
        if other.vni == chosen:
            raise conflict(f"{other.name} of {cloudlet.name} has VNI {chosen}; choose another", "vni")
    return chosen


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
