"""From intent to what route servers act on: the whole rule set, or the operations that lead from one to the next."""

from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.wire import rulesets as wire


def site_target(asn: int, site: int) -> str:
    """The route target of a site, which is its route distinguisher too (RFC 4364, section 4.2, type 0 or 2)."""
    return f"{asn}:{site}"


def peer(cloudlet: Cloudlet, asn: int) -> wire.Peer:
    """A cloudlet's PE as a route server knows it. iBGP: it has the region's AS number."""
    return wire.Peer(name=cloudlet.name, address=cloudlet.vtep, asn=asn)


def endpoint(of: Endpoint, intent: Intent, asn: int) -> wire.Endpoint:
    """An endpoint as a route server knows it."""
    target = site_target(asn, of.site)
    family = intent.cloudlets[of.cloudlet].pe.family
    return wire.Endpoint(name=of.name, peer=of.cloudlet, family=family, rt=target, rd=target, max_routes=of.max_routes)


def rule_set(intent: Intent, asn: int) -> wire.RuleSet:
    """The whole rule set. Cloudlets that may not speak yet are not in it: default deny."""
    peers = _peers(intent)
    endpoints = _endpoints(intent)
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
    """What turns `old`'s rule set into `new`'s: what is taken away first, then what is added, each in an order in
    which no operation names something that is not there."""
    ops: list[wire.Operation] = []
    peers, endpoints = (_peers(old), _peers(new)), (_endpoints(old), _endpoints(new))
    gone_endpoints = endpoints[0].keys() - endpoints[1].keys()
    gone_vcps = old.vcps.keys() - new.vcps.keys()
    ops += [wire.RemoveVcp(name=name) for name in sorted(gone_vcps)]
    for name in sorted(new.vcps.keys() & old.vcps.keys()):
        was, now = old.vcps[name].members, new.vcps[name].members
        if was is not now:
            ops += [wire.Leave(vcp=name, endpoint=e) for e in sorted(was - now - gone_endpoints)]
    ops += [wire.RemoveEndpoint(name=name) for name in sorted(gone_endpoints)]
    ops += [wire.RemovePeer(name=name) for name in sorted(peers[0].keys() - peers[1].keys())]
    for name, cloudlet in sorted(peers[1].items()):
        before = peers[0].get(name)
        if before is not cloudlet and (before is None or before.vtep != cloudlet.vtep):
            ops.append(wire.SetPeer(peer=peer(cloudlet, asn)))
    ops += [
        wire.SetEndpoint(endpoint=endpoint(endpoints[1][name], new, asn))
        for name in sorted(endpoints[1].keys() - endpoints[0].keys())
    ]
    for name in sorted(new.vcps):
        now = new.vcps[name].members
        if name not in old.vcps:
            ops.append(wire.SetVcp(vcp=wire.Vcp(name=name, members=sorted(now))))
        elif (was := old.vcps[name].members) is not now:
            ops += [wire.Join(vcp=name, endpoint=e) for e in sorted(now - was)]
    return ops


def apply(rules: wire.RuleSet, ops: list[wire.Operation], generation: int) -> wire.RuleSet:
    """The rule set after `ops`, as a route server computes it. The model that property tests hold `operations` to."""
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


def _peers(intent: Intent) -> dict[str, Cloudlet]:
    return {name: c for name, c in intent.cloudlets.items() if c.speaks}


def _endpoints(intent: Intent) -> dict[str, Endpoint]:
    return {name: e for name, e in intent.endpoints.items() if intent.cloudlets[e.cloudlet].speaks}
