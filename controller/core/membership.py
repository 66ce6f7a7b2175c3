"""The members of each pool as the policy in force wants them. Pure: the input is an intent with its policy, the output
the intent that follows from the policy. An intent that already follows from its policy is returned unchanged.

Named members come first, then those that selectors choose, with present members before others. An endpoint that cannot
be in a pool beside the others stays out, and repeated runs give the same result."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from controller.core import edits
from controller.core.consents import without_held
from controller.core.families import Family, Split
from controller.core.intent import CloudletState, Intent, Vcp
from controller.core.persistent_map import PersistentMap
from controller.core.policy.model import PolicyVcp
from controller.core.pool_conflicts import clashing
from controller.core.proximity.nearness import Medians
from controller.core.refusals import Refused
from controller.core.selectors import Labelled
from controller.core.tenants import no_pool, waiting


@dataclass(frozen=True, order=True)
class Absent:
    """An endpoint that the policy wants in a pool, or in a family of pools, and that is not in it; `why` is a sentence.
    One that `waits` joins when its cloudlet becomes active, when its tenant consents, or when it is made; any other
    cannot be in the pool beside the present members. `named`: the policy names it, rather than chooses it by a
    selector."""

    vcp: str
    endpoint: str
    why: str
    waits: bool = False
    named: bool = False


@dataclass(frozen=True)
class Settled:
    """The intent that follows from the policy, the endpoints that are absent, and the pools that fall apart."""

    intent: Intent
    absent: tuple[Absent, ...] = ()
    splits: tuple[Split, ...] = ()


def settled(intent: Intent, medians: Medians) -> Settled:
    """Return the intent with every pool of its policy as the policy wants it. Pools that an earlier policy made and
    this one does not contain are removed; pools made over REST stay, unless the policy names them."""
    intent = without_held(intent)
    labelled = Labelled(intent)
    wanted, absent = _candidates(intent, labelled)
    before, rules = intent, _fixed(intent)
    kept = {n: v for n, v in before.vcps.items() if n not in wanted and (n in rules or not v.managed_by_policy)}
    pools = {name: _pool(rules[name], before.vcps.get(name)) for name in wanted}
    full = {name: replace(vcp, members=frozenset(wanted[name])) for name, vcp in pools.items()}
    made = intent.but(vcps=kept | full)
    if suspects := clashing(made):
        calm = {name: replace(vcp, members=vcp.members - suspects) for name, vcp in full.items()}
        made = intent.but(vcps=kept | calm)
        for name in sorted(pools):
            made, refused = _joined(made, rules[name], [e for e in wanted[name] if e in suspects])
            absent += refused
    splits: list[Split] = []
    for name, rule in sorted(intent.policy.vcps.items()):
        if rule.automatic:
            candidates, left_out = _near_candidates(made, rule, labelled)
            family = Family(rule, medians, made)
            family.keep(before.vcps, candidates)
            family.split()
            family.place(candidates)
            made, splits = family.intent, splits + family.splits
            absent += [*left_out, *(Absent(name, e, why, named=e in rule.members) for e, why in family.left.items())]
    return Settled(made.but(vcps=_same(before.vcps, made.vcps)), tuple(sorted(absent)), tuple(splits))


def _fixed(intent: Intent) -> Mapping[str, PolicyVcp]:
    return {name: rule for name, rule in intent.policy.vcps.items() if not rule.automatic}


def _candidates(intent: Intent, labelled: Labelled) -> tuple[dict[str, list[str]], list[Absent]]:
    """Return, by pool, the endpoints that may be in it regardless of others: named ones in the order of the file, then
    members that a selector chooses, then others that it chooses. Return also the absent ones."""
    wanted: dict[str, list[str]] = {}
    absent: list[Absent] = []
    for name, rule in sorted(_fixed(intent).items()):
        present = intent.vcps.get(name)
        if present is not None and present.flavour is not rule.flavour:
            continue  # a pool does not change its flavour: it stays as it is until a user deletes it
        pool, members = _pool(rule, present), present.members if present else frozenset()
        chosen = labelled.select(rule.select) if rule.select is not None else frozenset()
        wanted[name] = []
        for endpoint in [*rule.members, *sorted(chosen - set(rule.members), key=lambda e: (e not in members, e))]:
            named = endpoint in rule.members
            if (why := unfit(intent, pool, endpoint, named=named)) is None:
                wanted[name].append(endpoint)
            elif why is not _OTHER_FLAVOUR:
                absent.append(replace(why, named=named))
    return wanted, absent


def _near_candidates(intent: Intent, rule: PolicyVcp, labelled: Labelled) -> tuple[frozenset[str], list[Absent]]:
    """Return the endpoints that may be in a family of pools regardless of others, and the absent ones."""
    chosen = labelled.select({} if rule.select is None else rule.select)
    found: set[str] = set()
    absent: list[Absent] = []
    for endpoint in chosen | set(rule.members):
        why = unfit(intent, Vcp(rule.name, rule.flavour, family=rule.name), endpoint, named=endpoint in rule.members)
        if why is None and intent.cloudlets[cloudlet := intent.endpoints[endpoint].cloudlet].latitude is None:
            why = Absent(rule.name, endpoint, f"nobody said where its cloudlet {cloudlet} is", waits=True)
        if why is None:
            found.add(endpoint)
        elif why is not _OTHER_FLAVOUR:
            absent.append(replace(why, named=endpoint in rule.members))
    return frozenset(found), absent


_OTHER_FLAVOUR = Absent("", "", "")


def unfit(intent: Intent, pool: Vcp, endpoint: str, *, named: bool) -> Absent | None:
    """Return why the endpoint cannot be in the pool, regardless of other members. A selector chooses only endpoints of
    the pool's flavour."""
    found = intent.endpoints.get(endpoint)
    if found is None:
        return Absent(pool.name, endpoint, f"there is no endpoint {endpoint!r}", waits=True)
    cloudlet = intent.cloudlets[found.cloudlet]
    if cloudlet.pe is not pool.flavour:
        why = f"endpoint '{endpoint}' is {cloudlet.pe}, and VCP '{pool.name}' is {pool.flavour}"
        return Absent(pool.name, endpoint, why) if named else _OTHER_FLAVOUR
    if refused := no_pool(intent.policy, found, pool):
        return Absent(pool.name, endpoint, refused)
    if intent.held(endpoint):
        return Absent(pool.name, endpoint, waiting(found), waits=True)
    if cloudlet.state is not CloudletState.ACTIVE:
        return Absent(pool.name, endpoint, f"its cloudlet {cloudlet.name} is {cloudlet.state}", waits=True)
    return None


def _pool(rule: PolicyVcp, present: Vcp | None) -> Vcp:
    """Return the pool without members, as the policy describes it."""
    return replace(
        present or Vcp(rule.name, rule.flavour),
        description=rule.description,
        managed_by_policy=True,
        members=frozenset(),
        family=None,
    )


def _joined(intent: Intent, rule: PolicyVcp, endpoints: Iterable[str]) -> tuple[Intent, list[Absent]]:
    """Let the endpoints join one after the other. Return the intent, and the endpoints that were refused."""
    refused: list[Absent] = []
    for endpoint in endpoints:
        try:
            intent = edits.join(intent, rule.name, endpoint)
        except Refused as refusal:
            refused.append(Absent(rule.name, endpoint, refusal.message, named=endpoint in rule.members))
    return intent, refused


def _same(before: Mapping[str, Vcp], after: Mapping[str, Vcp]) -> Mapping[str, Vcp]:
    """Return the pools after; an unchanged pool is the very object from before, so that comparing is quick."""
    other = {name: vcp for name, vcp in after.items() if before.get(name) != vcp}
    gone = before.keys() - after.keys()
    return PersistentMap.of(before).updated(other, gone) if other or gone else before
