"""The checks of which endpoints may become members of which pool. A check raises Refused, or returns nothing."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product

from controller.core.addresses import Network
from controller.core.intent import CloudletState, Endpoint, Intent
from controller.core.occupied import network as network
from controller.core.refusals import conflict, missing, unknown
from controller.core.tenants import no_pool, waiting
from controller.wire.flavours import Flavour


def check_join(intent: Intent, vcp: str, endpoint: str) -> None:
    """Check that `endpoint` may join `vcp`."""
    if vcp not in intent.vcps:
        raise missing("VCP", vcp, intent.vcps)
    if endpoint not in intent.endpoints:
        raise unknown("endpoint", "endpoint", endpoint, intent.endpoints)
    pool, joining = intent.vcps[vcp], intent.endpoints[endpoint]
    if endpoint in pool.members:
        raise conflict(f"{endpoint} is a member of {vcp} already", "endpoint")
    cloudlet = intent.cloudlets[joining.cloudlet]
    if cloudlet.state is not CloudletState.ACTIVE:
        raise conflict(f"{endpoint} is not active: its cloudlet {cloudlet.name} is {cloudlet.state}", "endpoint")
    check_fit(intent, vcp, joining)


def check_fit(intent: Intent, vcp: str, joining: Endpoint) -> None:
    """Check that an endpoint fits beside the members of `vcp`, of which it is none."""
    pool, endpoint, cloudlet = intent.vcps[vcp], joining.name, intent.cloudlets[joining.cloudlet]
    if cloudlet.pe is not pool.flavour:
        raise conflict(f"{vcp} is a pool of {pool.flavour} endpoints, and {endpoint} is {cloudlet.pe}", "endpoint")
    if refused := no_pool(intent.policy, joining, pool):
        raise conflict(refused, "endpoint")
    if intent.held(endpoint):
        raise conflict(waiting(joining), "endpoint")
    members = [intent.endpoints[name] for name in sorted(pool.members)]
    for member in members:
        if member.cloudlet == joining.cloudlet:
            raise conflict(
                f"{member.name} of the same cloudlet is a member of {vcp}: a tunnel cannot end where it starts",
                "endpoint",
            )
        if pool.flavour is Flavour.VPLS and intent.cloudlets[member.cloudlet].unmanaged is not cloudlet.unmanaged:
            ours, theirs = (member, joining) if cloudlet.unmanaged else (joining, member)
            raise conflict(
                f"{theirs.name} has a PE without an agent, whose pseudowires are MPLS, and those of {ours.name} are"
                " VXLAN: EVPN connects both kinds of PE",
                "endpoint",
            )
        if pool.flavour is Flavour.EVPN and member.vni != joining.vni:
            raise conflict(
                f"{endpoint} has VNI {joining.vni}, the members of {vcp} have {member.vni}; "
                "all members of an EVPN pool have the same",
                "endpoint",
            )
    _check_prefixes(intent, vcp, joining, members)


def _check_prefixes(intent: Intent, vcp: str, joining: Endpoint, members: list[Endpoint]) -> None:
    """Check that prefixes do not overlap after the join. A cloudlet routes to its own LANs and to those of every member
    of every pool it has an endpoint in. The newcomer must not overlap with the routes of the members' cloudlets, nor
    the members with the routes of the newcomer's cloudlet."""
    _check_overlap(joining, _routed(intent, *(m.cloudlet for m in members)), f"a cloudlet of {vcp} routes to both")
    seen_by_newcomer = _routed(intent, joining.cloudlet)
    for member, other in _overlapping(members, seen_by_newcomer):
        _check_overlap(member, [other], f"cloudlet {joining.cloudlet} would route to both")


def check_lan(intent: Intent, cloudlet: str, prefix: Network, field: str) -> None:
    """Check that `prefix`, which the request's `field` gives, may be a further LAN of `cloudlet`."""
    for other in _routed(intent, cloudlet):
        for theirs in _prefixes(other):
            if theirs.overlaps(prefix):
                raise conflict(f"{prefix} overlaps {theirs} of {other.name}, which {cloudlet} routes to", field)


def _routed(intent: Intent, *cloudlets: str) -> list[Endpoint]:
    """Return the endpoints to whose prefixes any of the cloudlets has routes: its own, and their remotes."""
    own = [e for cloudlet in cloudlets for e in intent.endpoints_of.get(cloudlet, ())]
    pools = {vcp for e in own for vcp in intent.pools_of.get(e.name, ())}
    names = {e.name for e in own}.union(*(intent.vcps[vcp].members for vcp in pools))
    return [intent.endpoints[name] for name in sorted(names)]


def _check_overlap(one: Endpoint, others: Iterable[Endpoint], why: str) -> None:
    mine = _spans(one.prefix, one.prefix6)
    for other in others:
        if other.name == one.name:
            continue
        for version, first, last in _spans(other.prefix, other.prefix6):
            if any(version == v and first <= end and start <= last for v, start, end in mine):
                ours, theirs = next((a, b) for a, b in product(_prefixes(one), _prefixes(other)) if a.overlaps(b))
                text = f"the prefix {ours} of {one.name} overlaps {theirs} of {other.name}, and {why}"
                raise conflict(text, "endpoint")


def _overlapping(some: Iterable[Endpoint], apart: Iterable[Endpoint]) -> Iterator[tuple[Endpoint, Endpoint]]:
    """Yield overlapping pairs, one endpoint from each group. The endpoints of `apart` do not overlap each other, as one
    cloudlet's routes never do. So it is enough to look at those that begin last before the end of a prefix."""
    others = sorted((*span, other.name, other) for other in apart for span in _spans(other.prefix, other.prefix6))
    starts = [(version, first) for version, first, _, _, _ in others]
    for one in some:
        for version, first, last in _spans(one.prefix, one.prefix6):
            at = bisect_right(starts, (version, last))
            while at and (there := others[at - 1])[0] == version and there[2] >= first:
                yield one, there[4]
                at -= 1


@lru_cache(maxsize=1 << 16)
def _spans(*prefixes: str | None) -> tuple[tuple[int, int, int], ...]:
    """Return the IP version, first and last address of each prefix, which are quicker to compare than networks."""
    lans = [network(prefix) for prefix in prefixes if prefix is not None]
    return tuple((lan.version, int(lan.network_address), int(lan.broadcast_address)) for lan in lans)


def _prefixes(endpoint: Endpoint) -> list[Network]:
    return [network(prefix) for prefix in (endpoint.prefix, endpoint.prefix6) if prefix is not None]
