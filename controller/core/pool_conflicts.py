"""Conflicts between members of pools, for all pools at once; `pools.check_join` checks one join at a time."""

from collections.abc import Iterable, Iterator

from controller.core.intent import Endpoint, Intent
from controller.core.pools import network
from controller.wire.flavours import Flavour


def clashing(intent: Intent) -> frozenset[str]:
    """Return the members that are part of a conflict: two endpoints of one cloudlet in a pool, two VNIs in an EVPN
    pool, or two overlapping prefixes that one cloudlet would route to. Without them in the pools there is no conflict.
    The cost is proportional to the endpoints and memberships, as long as few prefixes overlap."""
    found: set[str] = set()
    for vcp in intent.vcps.values():
        members = [intent.endpoints[name] for name in vcp.members]
        cloudlets: dict[str, str] = {}
        for member in members:
            if (other := cloudlets.setdefault(member.cloudlet, member.name)) != member.name:
                found |= {other, member.name}
        if vcp.flavour is Flavour.EVPN and len({member.vni for member in members}) > 1:
            found |= vcp.members
    overlapping = frozenset(_overlapping(intent.endpoints.values()))
    if not overlapping:
        return frozenset(found)
    rival: dict[frozenset[str], frozenset[str]] = {}
    in_pool = {vcp.name: vcp.members & overlapping for vcp in intent.vcps.values()}
    for own in intent.endpoints_of.values():
        pools = frozenset(pool for e in own for pool in intent.pools_of.get(e.name, ()))
        if not pools:
            continue
        if pools not in rival:
            rival[pools] = frozenset[str]().union(*(in_pool[pool] for pool in pools))
        here = rival[pools] | {e.name for e in own if e.name in overlapping}
        if len(here) > 1 and (pair := set(_overlapping(intent.endpoints[name] for name in here))):
            found |= pair | {e.name for e in own}
    return frozenset(found & intent.pools_of.keys())


def _overlapping(endpoints: Iterable[Endpoint]) -> Iterator[str]:
    """Yield the endpoints whose prefix overlaps another's. In order of address, a prefix overlaps the widest before it
    or none."""
    lans = ((e.name, network(prefix)) for e in endpoints for prefix in (e.prefix, e.prefix6) if prefix)
    ranges = sorted(
        (lan.version, int(lan.network_address), -lan.num_addresses, lan.num_addresses, name) for name, lan in lans
    )
    widest, end = "", (0, 0)
    for version, start, _, size, name in ranges:
        if (version, start) < end and version == end[0]:
            yield widest
            yield name
        if (version, start + size) > end:
            widest, end = name, (version, start + size)
