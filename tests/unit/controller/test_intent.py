"""Intent, rule sets and desired states against naive second models, over random sequences of edits."""

from dataclasses import replace
from ipaddress import ip_network
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from controller.core.affected import concerned
from controller.core.desired import Fabric, desired, tunnels
from controller.core.intent import Intent
from controller.core.lookups import LOOKUPS
from controller.core.persistent_map import PersistentMap
from controller.core.rulesets import apply, operations, rule_set
from controller.wire.desired import Desired, Speaker
from tests.unit.controller.regions import STEPS, founded, step

FABRIC = Fabric(65000, (Speaker(name="rs1", address="192.0.2.200", asn=65000),))
sequences = st.lists(STEPS, max_size=25)


def documents(intent: Intent) -> dict[str, Desired]:
    return {c.name: desired(intent, replace(c, version=0), FABRIC) for c in intent.cloudlets.values()}


@given(sequences)
def test_operations_lead_from_one_rule_set_to_the_next(steps: list[tuple[object, ...]]) -> None:
    intent = founded()
    rules = rule_set(intent, 65000)
    for edit in steps:
        after = step(intent, edit)
        ops = operations(intent, after, 65000)
        rules = apply(rules, ops, 0)
        assert rules == rule_set(after, 65000)
        assert bool(ops) == (rule_set(after, 65000) != rule_set(intent, 65000))
        intent = after


@given(sequences, sequences)
def test_operations_cross_any_distance(one: list[tuple[object, ...]], other: list[tuple[object, ...]]) -> None:
    a = b = founded()
    for edit in one:
        a = step(a, edit)
    for edit in other:
        b = step(b, edit)
    if any(a.vcps[n].flavour != b.vcps[n].flavour for n in a.vcps.keys() & b.vcps.keys()):
        return
    assert apply(rule_set(a, 65000), operations(a, b, 65000), 0) == rule_set(b, 65000)


@given(sequences)
def test_concerned_are_exactly_the_cloudlets_whose_desired_state_differs(steps: list[tuple[object, ...]]) -> None:
    intent = founded()
    for edit in steps:
        after = step(intent, edit)
        was, now = documents(intent), documents(after)
        differ = {name for name in was.keys() | now.keys() if was.get(name) != now.get(name)}
        assert concerned(intent, after) == differ
        intent = after


@given(sequences)
def test_who_sees_whom_is_what_the_pools_say_and_never_overlaps(steps: list[tuple[object, ...]]) -> None:
    intent = founded()
    for edit in steps:
        intent = step(intent, edit)
    for name, document in documents(intent).items():
        routed = []
        for endpoint in document.endpoints:
            pools = [set(v.members) for v in intent.vcps.values() if endpoint.name in v.members]
            wanted = set().union(*pools) - {endpoint.name}
            assert {remote.endpoint for remote in endpoint.remotes} == wanted
            assert len(tunnels(intent, name)[endpoint.name]) == len(wanted)
            routed += [(endpoint.name, endpoint.prefix)] + [(r.endpoint, r.prefix) for r in endpoint.remotes]
        for (a, p), (b, q) in combinations(set(routed), 2):
            assert a == b or not ip_network(p).overlaps(ip_network(q)), (name, a, p, b, q)
    for vcp in intent.vcps.values():
        cloudlets = [intent.endpoints[m].cloudlet for m in vcp.members]
        assert len(set(cloudlets)) == len(cloudlets)
        assert {intent.flavour(m) for m in vcp.members} <= {vcp.flavour}
        assert len({intent.endpoints[m].vni for m in vcp.members}) <= 1


@given(sequences)
def test_what_is_looked_up_follows_the_edits(steps: list[tuple[object, ...]]) -> None:
    """Every lookup returns the same as one that is computed anew."""
    intent = founded()
    for edit in steps:
        for names in LOOKUPS.values():
            for name in names:
                assert getattr(intent, name) is not None
        intent = step(intent, edit)
        fresh = Intent(vcps=dict(intent.vcps), endpoints=dict(intent.endpoints), cloudlets=dict(intent.cloudlets))
        fresh = replace(fresh, permits=dict(intent.permits))
        for names in LOOKUPS.values():
            for name in names:
                assert name not in vars(fresh)
                assert _plain(vars(intent)[name]) == _plain(getattr(fresh, name)), name


def _plain(found: object) -> object:
    """Return a value for comparison: a map by its entries, everything else by its parts."""
    return (
        dict(found.items())
        if isinstance(found, PersistentMap)
        else found
        if isinstance(found, tuple)
        else {k: _plain(v) for k, v in vars(found).items()}
    )


@given(sequences)
def test_numbers_are_unique(steps: list[tuple[object, ...]]) -> None:
    intent = founded()
    for edit in steps:
        intent = step(intent, edit)
    sites = [e.site for e in intent.endpoints.values()]
    assert len(set(sites)) == len(sites)
    indexes = [(e.cloudlet, e.index) for e in intent.endpoints.values()]
    assert len(set(indexes)) == len(indexes)
