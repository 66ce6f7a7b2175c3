"""The effect of the policy in force when the inventory changes: an endpoint that becomes eligible for a pool joins it,
and one that stops being eligible leaves it, in the same change. Pure, like `membership`, but only endpoints that the
change concerns are looked at. A membership that a user added or removed by hand stays, and shows as drift."""

from collections.abc import Iterator, Mapping
from itertools import chain

from controller.core import edits
from controller.core.affected import turned
from controller.core.families import Family, Split
from controller.core.intent import Cloudlet, CloudletState, Intent, Vcp
from controller.core.membership import Absent, Settled, unfit
from controller.core.persistent_map import changed
from controller.core.policy.model import PolicyVcp
from controller.core.proximity.nearness import Medians
from controller.core.proximity.placing import pools
from controller.core.refusals import Refused
from controller.core.selectors import labels, matches


def followed(old: Intent, new: Intent, medians: Medians) -> Settled:
    """Return `new`, an edit of `old`, with the effects of its policy on the edit. An edit of pools alone, or one with
    another policy, is returned as it is, at no cost."""
    inventory_same = new.cloudlets is old.cloudlets and new.endpoints is old.endpoints
    if inventory_same or not new.policy.vcps or new.policy is not old.policy:
        return Settled(new)
    who = sorted(concerned(old, new))
    absent: list[Absent] = []
    splits: list[Split] = []
    intent = new
    for name, rule in sorted(new.policy.vcps.items()):
        if rule.automatic:
            gone = _lost(old, new, rule)
            moved = [e for e in who if e in new.endpoints and _moved(old, new, e)]
            if gone or moved or any(eligible(new, rule, e) for e in who):
                intent, left, fell = _place(old, intent, rule, medians, who, frozenset(moved), gone)
                absent, splits = absent + left, splits + fell
            continue
        for endpoint in who:
            was, now = eligible(old, rule, endpoint), eligible(new, rule, endpoint)
            pool = intent.vcps.get(name)
            if was == now or pool is None or now == (endpoint in pool.members):
                continue
            if not now:
                intent = intent.without_member(name, endpoint)
                continue
            try:
                intent = edits.join(intent, name, endpoint)
            except Refused as refused:
                absent.append(Absent(name, endpoint, refused.message, named=endpoint in rule.members))
    return Settled(intent, tuple(sorted(absent)), tuple(splits))


def asked(old: Intent, new: Intent) -> set[str]:
    """Return the cloudlets whose round trips `followed` needs: those that an edit concerns, and those of the members of
    pools that may fall apart by it, as an endpoint that remains alone there is placed anew."""
    who = sorted(concerned(old, new))
    found = {new.endpoints[name].cloudlet for name in who}
    for rule in new.policy.vcps.values():
        if not rule.automatic:
            continue
        leavers = [e for e in who if eligible(old, rule, e) and (not eligible(new, rule, e) or _moved(old, new, e))]
        fewer = {*_lost(old, new, rule), *chain.from_iterable(pools(new, rule, e) for e in leavers)}
        found.update(new.endpoints[e].cloudlet for pool in fewer for e in new.vcps[pool].members)
    return found


def eligible(intent: Intent, rule: PolicyVcp, endpoint: str) -> bool:
    """Return whether the policy wants the endpoint in the pool, or in a pool of the family, as it is now."""
    found = intent.endpoints.get(endpoint)
    if found is None:
        return False
    cloudlet, named = intent.cloudlets[found.cloudlet], endpoint in rule.members
    chosen = named or (matches(rule.select, labels(cloudlet, found)) if rule.select is not None else rule.automatic)
    if not chosen or (rule.automatic and cloudlet.latitude is None):
        return False
    family = rule.name if rule.automatic else None
    return unfit(intent, Vcp(rule.name, rule.flavour, family=family), endpoint, named=named) is None


def concerned(old: Intent, new: Intent) -> Iterator[str]:
    """Yield the endpoints that were made, those that have another tenant, those whose tenant's consent was given or
    withdrawn, and those of cloudlets of which a property that policies use has changed."""
    for name in changed(old.endpoints, new.endpoints):
        was, now = old.endpoints.get(name), new.endpoints.get(name)
        if now is not None and (was is None or was.tenant != now.tenant):
            yield name
    yield from turned(old, new)
    for name in changed(old.cloudlets, new.cloudlets):
        before, after = old.cloudlets.get(name), new.cloudlets.get(name)
        if before is not None and after is not None and _asked(before) != _asked(after):
            yield from (endpoint.name for endpoint in new.endpoints_of.get(name, ()))


def _asked(cloudlet: Cloudlet) -> tuple[object, ...]:
    return cloudlet.state is CloudletState.ACTIVE, cloudlet.labels, cloudlet.latitude, cloudlet.longitude


def _position(intent: Intent, endpoint: str) -> tuple[float | None, float | None]:
    cloudlet = intent.cloudlets[intent.endpoints[endpoint].cloudlet]
    return cloudlet.latitude, cloudlet.longitude


def _moved(old: Intent, new: Intent, endpoint: str) -> bool:
    return endpoint in old.endpoints and _position(old, endpoint) != _position(new, endpoint)


def _lost(old: Intent, new: Intent, rule: PolicyVcp) -> Mapping[str, frozenset[str]]:
    """Return the family's pools from which the edit removed members."""
    if old.vcps is new.vcps:
        return {}
    both = [n for n in changed(old.vcps, new.vcps) if n in old.vcps and n in new.vcps]
    mine = {n: old.vcps[n] for n in both if old.vcps[n].family == rule.name}
    return {n: gone for n, vcp in mine.items() if (gone := vcp.members - new.vcps[n].members)}


def _place(
    old: Intent,
    intent: Intent,
    rule: PolicyVcp,
    medians: Medians,
    who: list[str],
    moved: frozenset[str],
    gone: Mapping[str, frozenset[str]],
) -> tuple[Intent, list[Absent], list[Split]]:
    """Take endpoints out of the family's pools if they may not stay there, or have moved; split the pools that they
    left into their parts; and place endpoints into pools."""
    touched = set(gone)
    placed: list[str] = []
    for endpoint in who:
        was, now = eligible(old, rule, endpoint), eligible(intent, rule, endpoint)
        mine = list(pools(intent, rule, endpoint))
        if was and (not now or endpoint in moved):
            for name in mine:
                intent = intent.without_member(name, endpoint)
                touched.add(name)
            mine = []
        if now and not mine and (not was or endpoint in moved):
            placed.append(endpoint)
    family = Family(rule, medians, intent)
    family.split(touched)
    family.place(placed)
    left = [Absent(rule.name, e, why, named=e in rule.members) for e, why in family.left.items()]
    return family.intent, left, family.splits
