"""The conversion of the intent for route servers: the whole rule set, or the operations from one rule set to the
next."""

from functools import partial
from ipaddress import ip_address

from controller.core.affected import turned
from controller.core.handovers import in_order
from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.core.occupied import network
from controller.core.persistent_map import changed
from controller.wire import rulesets as wire
from controller.wire.desired import gateway_mac
from controller.wire.flavours import Flavour

FEWEST_MACS = 256
"""MACs that any LAN may have; a large one may have two for each of its addresses."""


def site_target(asn: int, site: int) -> str:
    """Return the route target of a site, which is also its route distinguisher (RFC 4364, section 4.2, type 0 or 2)."""
    return f"{asn}:{site}"


def peer(cloudlet: Cloudlet, asn: int) -> wire.Peer:
    """Return a cloudlet's PE as a route server knows it. It has the region's AS number (iBGP) unless it has its own."""
    own = asn if cloudlet.asn is None else cloudlet.asn
    return wire.Peer(name=cloudlet.name, address=cloudlet.vtep, asn=own, ttl_security=cloudlet.ttl_security)


def endpoint(of: Endpoint, intent: Intent, asn: int) -> wire.Endpoint:
    """Return an endpoint as a route server knows it."""
    target, cloudlet = site_target(asn, of.site), intent.cloudlets[of.cloudlet]
    return wire.Endpoint(
        name=of.name,
        peer=of.cloudlet,
        family=cloudlet.pe.family,
        rt=target,
        rd=target,
        max_routes=of.max_routes,
        permits=permits(of, intent),
    )


def permits(of: Endpoint, intent: Intent) -> wire.Permits:
    """Return what an endpoint's PE may announce: its VTEP, its LAN, the gateway there; VMs with an announce permit
    there, and the addresses of other LANs that these VMs have kept; the numbers that its agent is given. The last label
    block of VPLS ends one beyond the labels of its index (RFC 4761, section 3.2.2). A PE without an agent chooses the
    gateway's MAC and its labels."""
    cloudlet, permits = intent.cloudlets[of.cloudlet], intent.permits_of.get(of.name, ())
    vpls, evpn, managed = cloudlet.pe is Flavour.VPLS, cloudlet.pe is Flavour.EVPN, not cloudlet.unmanaged
    gateway = [gateway_mac(cloudlet.name, of.index)] if managed else []
    lans = [network(prefix) for prefix in (of.prefix, of.prefix6) if prefix]
    kept = [address for permit in permits for address in permit.kept]
    return wire.Permits(
        next_hops=[cloudlet.vtep],
        prefixes=[prefix for prefix in (of.prefix, of.prefix6) if prefix],
        hosts=[address for address in kept if not any(ip_address(address) in lan for lan in lans)],
        macs=[*gateway, *(mac for permit in permits for mac in permit.macs)] if evpn else [],
        ve_id=of.site if vpls else None,
        labels=(of.index << 12, (of.index + 1) << 12) if vpls and managed else None,
        max_macs=max(FEWEST_MACS, 2 * network(of.prefix).num_addresses) if evpn else None,
    )


def rule_set(intent: Intent, asn: int) -> wire.RuleSet:
    """Return the whole rule set. It does not contain cloudlets that may not speak yet, the hosts of route servers, or
    endpoints that are held back: default deny."""
    peers = {name: c for name, c in intent.cloudlets.items() if intent.has_pe(c)}
    endpoints = {name: e for name, e in intent.endpoints.items() if e.cloudlet in peers and not intent.held(name)}
    return wire.RuleSet(
        generation=intent.generation,
        peers=[peer(peers[name], asn) for name in sorted(peers)],
        endpoints=[endpoint(endpoints[name], intent, asn) for name in sorted(endpoints)],
        vcps=[
            wire.Vcp(name=name, members=sorted(intent.vcps[name].members & endpoints.keys()))
            for name in sorted(intent.vcps)
        ],
    )


def operations(old: Intent, new: Intent, asn: int) -> list[wire.Operation]:
    """Return the operations that turn `old`'s rule set into `new`'s: removals first, then additions, in an order in
    which no operation names a missing object, and no PE takes an address that another one has. The cost is proportional
    to the differences."""
    ops: list[wire.Operation] = []
    cloudlets, vcps = sorted(changed(old.cloudlets, new.cloudlets)), sorted(changed(old.vcps, new.vcps))
    endpoints = {e.name for name in cloudlets for i in (old, new) for e in i.endpoints_of.get(name, ())}
    endpoints |= {*changed(old.endpoints, new.endpoints), *turned(old, new)}
    for name in changed(old.permits, new.permits):
        endpoints |= {e for i in (old, new) if name in i.permits for e in i.permits[name].endpoints}
    gone_endpoints = {name for name in endpoints if _has(old, name) and not _has(new, name)}
    back = {name for name in endpoints if _has(new, name) and not _has(old, name)}
    vcps = sorted({*vcps, *(vcp for name in back for vcp in new.pools_of.get(name, ()))})
    ops += [wire.RemoveVcp(name=name) for name in vcps if name not in new.vcps]
    for name in vcps:
        if name in old.vcps and name in new.vcps:
            was, now = old.vcps[name].members, new.vcps[name].members
            left = was - now - gone_endpoints
            ops += [wire.Leave(vcp=name, endpoint=e) for e in sorted(left) if _has(old, e)]
    ops += [wire.RemoveEndpoint(name=name) for name in sorted(gone_endpoints)]
    ops += [wire.RemovePeer(name=name) for name in cloudlets if _speaks(old, name) and not _speaks(new, name)]
    for name in in_order(cloudlets, partial(_address, old), partial(_address, new)):
        pe = peer(new.cloudlets[name], asn) if _speaks(new, name) else None
        if pe is not None and not (_speaks(old, name) and peer(old.cloudlets[name], asn) == pe):
            ops.append(wire.SetPeer(peer=pe))
    ops += [
        wire.SetEndpoint(endpoint=endpoint(new.endpoints[name], new, asn))
        for name in sorted(endpoints)
        if _has(new, name) and not (_has(old, name) and _same(old, new, name, asn))
    ]
    for name in vcps:
        if name in new.vcps:
            now = new.vcps[name].members
            if name not in old.vcps:
                there = sorted(e for e in now if _has(new, e))
                ops.append(wire.SetVcp(vcp=wire.Vcp(name=name, members=there)))
            else:
                joined = now - (old.vcps[name].members - back)
                ops += [wire.Join(vcp=name, endpoint=e) for e in sorted(joined) if _has(new, e)]
    return ops


def apply(rules: wire.RuleSet, ops: list[wire.Operation], generation: int) -> wire.RuleSet:
    """Return the rule set after `ops`, as a route server computes it. Property tests check `operations` against it."""
    peers = {p.name: p for p in rules.peers}
    endpoints = {e.name: e for e in rules.endpoints}
    vcps = {v.name: set(v.members) for v in rules.vcps}
    for op in ops:
        match op:
            case wire.SetPeer():
                peers[op.peer.name] = op.peer
            case wire.RemovePeer():
                del peers[op.name]
            case wire.SetEndpoint():
                endpoints[op.endpoint.name] = op.endpoint
            case wire.RemoveEndpoint():
                del endpoints[op.name]
                for members in vcps.values():
                    members.discard(op.name)
            case wire.SetVcp():
                vcps[op.vcp.name] = set(op.vcp.members)
            case wire.RemoveVcp():
                del vcps[op.name]
            case wire.Join():
                vcps[op.vcp].add(op.endpoint)
            case wire.Leave():
                vcps[op.vcp].remove(op.endpoint)
    return wire.RuleSet(
        generation=generation,
        peers=[peers[n] for n in sorted(peers)],
        endpoints=[endpoints[n] for n in sorted(endpoints)],
        vcps=[wire.Vcp(name=n, members=sorted(vcps[n])) for n in sorted(vcps)],
    )


def _address(intent: Intent, cloudlet: str) -> str | None:
    """Return the address of a PE as route servers know it, None if they know none."""
    return intent.cloudlets[cloudlet].vtep if _speaks(intent, cloudlet) else None


def _speaks(intent: Intent, cloudlet: str) -> bool:
    found = intent.cloudlets.get(cloudlet)
    return found is not None and intent.has_pe(found)


def _same(old: Intent, new: Intent, name: str, asn: int) -> bool:
    """Return whether an endpoint is the same to route servers."""
    return endpoint(old.endpoints[name], old, asn) == endpoint(new.endpoints[name], new, asn)


def _has(intent: Intent, endpoint: str) -> bool:
    """Return whether an endpoint exists for route servers."""
    found = intent.endpoints.get(endpoint)
    return found is not None and _speaks(intent, found.cloudlet) and not intent.held(endpoint)
