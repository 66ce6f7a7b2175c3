"""Who may become a member of which pool. Raises Refused; says nothing when all is well."""

from collections.abc import Iterable
from functools import lru_cache

from controller.core.addresses import Network, parse_prefix
from controller.core.intent import Endpoint, Intent, State
from controller.core.refusals import conflict, invalid, missing
from controller.wire.flavours import Flavour

network = lru_cache(maxsize=8192)(parse_prefix)


def check_join(intent: Intent, vcp: str, endpoint: str) -> None:
    """Whether `endpoint` may join `vcp`."""
    if vcp not in intent.vcps:
        raise missing("VCP", vcp)
    if endpoint not in intent.endpoints:
        raise invalid("endpoint", f"there is no endpoint {endpoint!r}")
    pool, joining = intent.vcps[vcp], intent.endpoints[endpoint]
    if endpoint in pool.members:
        raise conflict(f"{endpoint} is a member of {vcp} already", "endpoint")
    cloudlet = intent.cloudlets[joining.cloudlet]
    if cloudlet.state is not State.ACTIVE:
        raise conflict(f"{endpoint} is not active: its cloudlet {cloudlet.name} is {cloudlet.state}", "endpoint")
    if cloudlet.pe is not pool.flavour:
        raise conflict(f"{vcp} is a pool of {pool.flavour} endpoints, and {endpoint} is {cloudlet.pe}", "endpoint")
    members = [intent.endpoints[name] for name in sorted(pool.members)]
    for member in members:
        if member.cloudlet == joining.cloudlet:
            raise conflict(
                f"{member.name} of the same cloudlet is a member of {vcp}: a tunnel cannot end where it starts",
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
    """A cloudlet routes to its own LANs and to those of every member of every pool it has an endpoint in. After the
    join these must not overlap: neither the newcomer with what the members' cloudlets route to, nor the members with
    what the newcomer's cloudlet routes to."""
    cloudlets = {member.cloudlet for member in members}
    seen_by_members = {e.name: e for cloudlet in cloudlets for e in _routed(intent, cloudlet)}
    _check_overlap(joining, seen_by_members.values(), f"a cloudlet of {vcp} routes to both")
    seen_by_newcomer = _routed(intent, joining.cloudlet)
    for member in members:
        _check_overlap(member, seen_by_newcomer, f"cloudlet {joining.cloudlet} would route to both")


def check_lan(intent: Intent, cloudlet: str, prefix: Network) -> None:
    """Whether `prefix` may be a further LAN of `cloudlet`."""
    for other in _routed(intent, cloudlet):
        if network(other.prefix).overlaps(prefix):
            raise conflict(f"{prefix} overlaps {other.prefix} of {other.name}, which {cloudlet} routes to", "prefix")


def _routed(intent: Intent, cloudlet: str) -> list[Endpoint]:
    """The endpoints whose prefixes a cloudlet has routes to: its own, and their remotes."""
    own = intent.endpoints_of.get(cloudlet, ())
    pools = {vcp for e in own for vcp in intent.pools_of.get(e.name, ())}
    names = {e.name for e in own}.union(*(intent.vcps[vcp].members for vcp in pools))
    return [intent.endpoints[name] for name in sorted(names)]


def _check_overlap(one: Endpoint, others: Iterable[Endpoint], why: str) -> None:
    prefix = network(one.prefix)
    for other in others:
        if other.name != one.name and network(other.prefix).overlaps(prefix):
            raise conflict(
                f"the prefix {one.prefix} of {one.name} overlaps {other.prefix} of {other.name}, and {why}", "endpoint"
            )
