"""The differences between two intents: cloudlets with another desired state, and endpoints held back in only one."""

from collections.abc import Iterator

from controller.core.intent import Endpoint, Intent
from controller.core.persistent_map import changed


def concerned(old: Intent, new: Intent) -> frozenset[str]:
    """Return the cloudlets, of either intent, whose desired state differs between the two.

    A desired state differs only if the cloudlet's own endpoints in force, its state or its VTEP differ, or its
    endpoints' remotes: which they are, or their prefixes and VTEPs. The cost is proportional to the pools that changed
    and to those of the endpoints that did, not to the region."""
    names = {*_own_changes(old, new), *_of_hosts(old, new)}
    names -= {name for name in names if name in old.revoked and name in new.revoked}
    return frozenset(names | _of_others(old, new) | {*_altered(old, new)})


def turned(old: Intent, new: Intent) -> Iterator[str]:
    """Yield the endpoints of both intents that are held back in only one of them. The cost is proportional to the
    change, unless the two policies ask different tenants for consent."""
    others = old.policy is not new.policy and _asking(old) != _asking(new)
    for name in new.endpoints if others else changed(old.endpoints, new.endpoints):
        if name in old.endpoints and name in new.endpoints and old.held(name) != new.held(name):
            yield name


def _asking(intent: Intent) -> frozenset[str]:
    return frozenset(name for name, tenant in intent.policy.tenants.items() if tenant.consent)


def _of_others(old: Intent, new: Intent) -> set[str]:
    """Return the cloudlets whose endpoints' remotes differ."""
    found: set[str] = set()
    for moved, among in _moved(old, new):
        before, after = _Among(old, among), _Among(new, among)
        for endpoint in moved:
            found |= before.seen_by(endpoint) ^ after.seen_by(endpoint)
            if before.sees(endpoint) != after.sees(endpoint):
                found.add(endpoint)
    return {_cloudlet_of(endpoint, old, new) for endpoint in found}


def _moved(old: Intent, new: Intent) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yield sets of endpoints that were added, removed, or began or stopped taking part, each with the endpoints that
    are or were in a pool with them."""
    for name in changed(old.cloudlets, new.cloudlets):
        both = [(intent, intent.cloudlets.get(name)) for intent in (old, new)]
        if len({(c.speaks, c.revoked) for _, c in both if c is not None}) > 1:
            for intent, _ in both:
                for endpoint in intent.endpoints_of.get(name, ()):
                    pools = intent.pools_of.get(endpoint.name, ())
                    yield frozenset({endpoint.name}), frozenset().union(*(intent.vcps[p].members for p in pools))
    for pool in changed(old.vcps, new.vcps):
        was, now = (vcps[pool].members if pool in vcps else frozenset[str]() for vcps in (old.vcps, new.vcps))
        if was != now:
            yield was ^ now, was | now


class _Among:
    """The remotes of some endpoints. An endpoint of a revoked cloudlet is nobody's remote, and one whose cloudlet does
    not take part has no remotes. All are sets: a new pool of a thousand has a million pairs."""

    def __init__(self, intent: Intent, among: frozenset[str]) -> None:
        self._intent = intent
        there = {name: intent.endpoints[name].cloudlet for name in among if name in intent.endpoints}
        cloudlets = {name: intent.cloudlets[cloudlet] for name, cloudlet in there.items()}
        self._seen = frozenset(name for name, cloudlet in cloudlets.items() if not cloudlet.revoked)
        self._seeing = frozenset(name for name, cloudlet in cloudlets.items() if cloudlet.speaks)

    def sees(self, endpoint: str) -> frozenset[str]:
        """Return the remotes of an endpoint."""
        return self._met(endpoint, self._seen) if endpoint in self._seeing else frozenset()

    def seen_by(self, endpoint: str) -> frozenset[str]:
        """Return the endpoints that have this one as a remote."""
        return self._met(endpoint, self._seeing) if endpoint in self._seen else frozenset()

    def _met(self, endpoint: str, among: frozenset[str]) -> frozenset[str]:
        pools = (self._intent.vcps[pool].members for pool in self._intent.pools_of.get(endpoint, ()))
        return frozenset().union(*(members & among for members in pools)) - {endpoint}


def _altered(old: Intent, new: Intent) -> Iterator[str]:
    """Yield the cloudlets whose own endpoints or VTEP were altered, and those that have such an endpoint as a
    remote."""
    for name in changed(old.endpoints, new.endpoints):
        before, after = old.endpoints.get(name), new.endpoints.get(name)
        if before is None or after is None:
            continue
        if _told(before) != _told(after) and new.cloudlets[after.cloudlet].speaks and not new.held(name):
            yield after.cloudlet
        if (before.prefix, before.prefix6) != (after.prefix, after.prefix6):
            yield from _seeing(new, after)
    for name in changed(old.cloudlets, new.cloudlets):
        if name in old.cloudlets and name in new.cloudlets and old.cloudlets[name].vtep != new.cloudlets[name].vtep:
            yield name
            for endpoint in new.endpoints_of.get(name, ()):
                yield from _seeing(new, endpoint)


def _told(endpoint: Endpoint) -> tuple[object, ...]:
    """Return the values of an endpoint that its agent is told and that can be altered."""
    return endpoint.prefix, endpoint.prefix6, endpoint.ports, endpoint.vni, endpoint.mtu, endpoint.lease_seconds


def _seeing(intent: Intent, endpoint: Endpoint) -> Iterator[str]:
    """Yield the cloudlets that have an endpoint as a remote."""
    if intent.cloudlets[endpoint.cloudlet].revoked:
        return
    for vcp in intent.pools_of.get(endpoint.name, ()):
        for member in intent.vcps[vcp].members - {endpoint.name}:
            if intent.cloudlets[cloudlet := intent.endpoints[member].cloudlet].speaks:
                yield cloudlet


def _of_hosts(old: Intent, new: Intent) -> Iterator[str]:
    """Yield the cloudlets whose BGP sessions through IPsec have other peers than before."""
    for name in changed(old.cloudlets, new.cloudlets) if new.route_servers else ():
        both = [(intent, intent.cloudlets.get(name)) for intent in (old, new)]
        ends = [(c.vtep, intent.is_host(c)) if c is not None and c.enrolled else None for intent, c in both]
        if ends[0] != ends[1]:
            others = {other.name for intent, cloudlet in both if cloudlet for other in intent.protected(cloudlet)}
            yield from others | {name} if others else ()


def _own_changes(old: Intent, new: Intent) -> Iterator[str]:
    for name in {*changed(old.endpoints, new.endpoints), *turned(old, new)}:
        if _in_force(old, name) != _in_force(new, name):
            yield _cloudlet_of(name, old, new)
    for name in changed(old.cloudlets, new.cloudlets):
        before, after = old.cloudlets.get(name), new.cloudlets.get(name)
        if before is None or after is None or old.has_pe(before) != new.has_pe(after):
            yield name


def _in_force(intent: Intent, endpoint: str) -> bool:
    return endpoint in intent.endpoints and not intent.held(endpoint)


def _cloudlet_of(endpoint: str, old: Intent, new: Intent) -> str:
    return (new.endpoints.get(endpoint) or old.endpoints[endpoint]).cloudlet
