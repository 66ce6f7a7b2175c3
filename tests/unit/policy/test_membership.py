"""The members of each pool: for any region and policies, applying a policy twice changes nothing, and so on."""

from collections.abc import Set
from dataclasses import replace
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core import edits
from controller.core.alterations import alter_cloudlet
from controller.core.following import asked, eligible, followed
from controller.core.intent import CloudletState, Endpoint, Intent, Vcp
from controller.core.membership import settled
from controller.core.plans import Plan, plan
from controller.core.policy.model import PolicyVcp, Rules
from controller.core.pool_conflicts import clashing
from controller.core.proximity.nearness import Medians, Nearness
from controller.core.proximity.splitting import parts
from controller.core.refusals import Refused
from controller.wire.flavours import Flavour
from tests.unit.policy.regions import STEP, cloudlet, medians, policies, region, regions

fewer = settings(max_examples=60)


def under(intent: Intent, rules: Rules, rtts: Medians | None = None) -> Intent:
    return settled(intent.but(policy=rules), rtts or {}).intent


def members(intent: Intent) -> dict[str, list[str]]:
    return {name: sorted(vcp.members) for name, vcp in sorted(intent.vcps.items())}


@fewer
@given(regions(), policies, policies, medians, medians)
def test_applying_a_policy_twice_changes_nothing(
    intent: Intent, first: Rules, second: Rules, earlier: Medians, rtts: Medians
) -> None:
    before = under(intent, first, earlier)
    after = under(before, second, rtts)
    again = settled(after, rtts)
    assert again.intent.vcps is after.vcps
    steps = plan(after, again)
    assert steps.empty and steps == Plan(waiting=steps.waiting, out=steps.out)


@fewer
@given(regions(), policies, medians, medians)
def test_pools_stay_as_they_are_when_round_trips_change(
    intent: Intent, rules: Rules, earlier: Medians, rtts: Medians
) -> None:
    """A line that is slow for a while removes no member from a pool, and one that has become fast adds none."""
    before = under(intent, rules, earlier)
    assert plan(before, settled(before, rtts)).empty


@fewer
@given(regions(), policies, medians)
def test_a_plan_is_what_happens(intent: Intent, rules: Rules, rtts: Medians) -> None:
    after = settled(intent.but(policy=rules), rtts)
    steps = plan(intent, after)
    pools = {name: set(vcp.members) for name, vcp in intent.vcps.items() if name not in steps.delete}
    pools |= {vcp.name: set[str]() for vcp in steps.create}
    for vcp, endpoint in steps.leave:
        pools[vcp].remove(endpoint)
    for vcp, endpoint in steps.join:
        assert endpoint not in pools[vcp]
        pools[vcp].add(endpoint)
    assert pools == {name: set(vcp.members) for name, vcp in after.intent.vcps.items()}
    for name in steps.adopt:
        assert not intent.vcps[name].managed_by_policy and after.intent.vcps[name].managed_by_policy
    assert steps.empty == (intent.vcps == after.intent.vcps and not steps.settings)


@fewer
@given(regions(), policies, policies, medians, medians)
def test_members_get_along_and_only_those_who_may_be_there_are(
    intent: Intent, first: Rules, second: Rules, earlier: Medians, rtts: Medians
) -> None:
    before = under(intent, first, earlier)
    after = under(before, second, rtts)
    assert not clashing(after)
    for name, vcp in after.vcps.items():
        rule = second.vcps.get(vcp.family or name)
        if rule is not None and rule.automatic == (vcp.family is not None):
            assert all(eligible(after, rule, endpoint) for endpoint in vcp.members), name
        elif vcp.managed_by_policy:
            assert vcp.flavour is not second.vcps[name].flavour
        elif name in intent.vcps:
            assert vcp == before.vcps[name]


@fewer
@given(regions(), policies, medians)
def test_whoever_is_left_out_really_cannot_be_in(intent: Intent, rules: Rules, rtts: Medians) -> None:
    after = settled(intent.but(policy=rules), rtts)
    out = {(absent.vcp, absent.endpoint) for absent in after.absent}
    for name, rule in rules.vcps.items():
        for endpoint in intent.endpoints:
            if not eligible(after.intent, rule, endpoint):
                continue
            if rule.automatic:
                pools = {p for p in after.intent.pools_of.get(endpoint, ()) if after.intent.vcps[p].family == name}
                assert bool(pools) != ((name, endpoint) in out)
            elif endpoint not in after.intent.vcps[name].members:
                assert (name, endpoint) in out or after.intent.vcps[name].flavour is not rule.flavour


@fewer
@given(regions(), policies, medians)
def test_pools_of_a_family_hang_together(intent: Intent, rules: Rules, rtts: Medians) -> None:
    """All members are connected by distance and, if the whole pool was made by proximity, also by permitted round
    trips."""
    after = under(intent, rules, rtts)
    for vcp in after.vcps.values():
        if vcp.family:
            nearness = Nearness(after, rules.vcps[vcp.family], rtts)
            assert len(parts(vcp.members, nearness.by_distance)) == 1
            assert len(parts(vcp.members, nearness)) == 1


@fewer
@given(regions())
def test_clashing_members_are_those_that_a_join_refuses(intent: Intent) -> None:
    everybody = frozenset(e for e in intent.endpoints if intent.flavour(e) is Flavour.VPLS)
    everybody &= frozenset(e.name for e in intent.endpoints.values() if intent.cloudlets[e.cloudlet].state == "active")
    all_in = intent.but(vcps={**intent.vcps, "all": Vcp("all", members=everybody)})
    suspects = clashing(all_in)
    calm = intent.but(vcps={**intent.vcps, "all": Vcp("all", members=everybody - suspects)})
    for endpoint in everybody - suspects:
        edits.join(calm.without_member("all", endpoint), "all", endpoint)
    refused = 0
    for one, other in combinations(sorted(everybody), 2):
        try:
            edits.join(edits.join(intent.with_vcp(Vcp("pair")), "pair", one), "pair", other)
        except Refused:
            refused += 1
            assert {one, other} & suspects
    assert suspects or not refused


events = st.lists(
    st.one_of(
        st.tuples(st.just("drain"), st.integers(0, 5)),
        st.tuples(st.just("approve"), st.integers(0, 5)),
        st.tuples(st.just("detach"), st.integers(0, 5)),
        st.tuples(st.just("attach"), st.integers(0, 5)),
        st.tuples(st.just("remove"), st.integers(0, 5)),
        st.tuples(st.just("label"), st.integers(0, 5), st.sampled_from(["turin", "milan"])),
        st.tuples(st.just("move"), st.integers(0, 5), st.integers(0, 9)),
    ),
    max_size=12,
)


def happened(intent: Intent, event: tuple[object, ...]) -> Intent:
    verb, number, *more = event
    name = f"c{number}"
    try:
        match verb:
            case "drain":
                return edits.drain(intent, name)
            case "approve":
                return edits.approve(intent, name)
            case "detach":
                return edits.remove_endpoint(intent, f"{name}-lan")
            case "attach":
                return edits.add_endpoint(intent, Endpoint(f"{name}-lan", name, 0, 0, f"10.{number}.0.0/24", ""), [])
            case "remove":
                return edits.remove_cloudlet(intent, name)
            case "label":
                return alter_cloudlet(intent, name, {"labels": {"city": str(more[0])}})
            case _:
                return alter_cloudlet(intent, name, {"latitude": 45 + int(str(more[0])) * STEP, "longitude": 7.0})
    except Refused:
        return intent


@fewer
@given(events, medians, st.sampled_from([None, 20.0]))
def test_following_every_event_leaves_no_drift(
    happening: list[tuple[object, ...]], rtts: Medians, most: float | None
) -> None:
    """If no LANs are in conflict, the pools are always those that a plan would make; and only the round trips that
    `asked` names count."""
    rules = Rules(
        vcps={
            "blue": PolicyVcp("blue", members=("c0-lan", "c1-lan")),
            "turin": PolicyVcp("turin", select={"city": frozenset({"turin"})}),
            "metro": PolicyVcp("metro", automatic=True, max_rtt_ms=most),
        }
    )
    numbers = (0, 1, 2, 4, 5)
    intent = under(region(*(cloudlet(n, "turin", n) for n in numbers)), rules, rtts)
    for event in happening:
        edited = happened(intent, event)
        after = followed(intent, edited, rtts)
        assert after == followed(intent, edited, between(rtts, asked(intent, edited))), event
        intent = after.intent
        assert settled(intent, rtts).intent.vcps is intent.vcps, event


def between(rtts: Medians, names: Set[str]) -> Medians:
    """Return the round trips of the named cloudlets."""
    return {one: {o: rtt for o, rtt in row.items() if one in names or o in names} for one, row in rtts.items()}


def test_what_is_joined_or_left_by_hand_stays_as_it_is() -> None:
    rules = Rules(vcps={"blue": PolicyVcp("blue", members=("c0-lan", "c1-lan"))})
    intent = under(region(*(cloudlet(n) for n in (0, 1, 2))), rules)
    by_hand = edits.leave(edits.join(intent, "blue", "c2-lan"), "blue", "c0-lan")
    assert followed(intent, by_hand, {}).intent is by_hand
    later = alter_cloudlet(by_hand, "c0", {"labels": {"city": "rome"}})
    assert members(followed(by_hand, later, {}).intent) == {"blue": ["c1-lan", "c2-lan"]}
    steps = plan(later, settled(later, {}))
    assert (steps.join, steps.leave) == ((("blue", "c0-lan"),), (("blue", "c2-lan"),))


def test_whoever_is_not_active_waits_and_joins_in_the_change_that_makes_it_so() -> None:
    rules = Rules(vcps={"blue": PolicyVcp("blue", members=("c0-lan", "c1-lan", "c9-lan"))})
    intent = region(cloudlet(0), cloudlet(1, state=CloudletState.PENDING))
    after = settled(intent.but(policy=rules), {})
    assert members(after.intent) == {"blue": ["c0-lan"]}
    assert [(a.endpoint, a.waits, a.why) for a in after.absent] == [
        ("c1-lan", True, "its cloudlet c1 is pending"),
        ("c9-lan", True, "there is no endpoint 'c9-lan'"),
    ]
    active = edits.approve(after.intent, "c1")
    assert members(followed(after.intent, active, {}).intent) == {"blue": ["c0-lan", "c1-lan"]}


def test_removing_the_one_in_the_middle_splits_a_pool() -> None:
    rules = Rules(vcps={"metro": PolicyVcp("metro", automatic=True, description="by foot")})
    steps = (0, 1, 2, 4, 5, 6)
    places = dict(zip(steps, (0, 1, 2, 3, 4, 6), strict=True))
    intent = under(region(*(cloudlet(n, step=places[n]) for n in steps)), rules)
    assert members(intent) == {"metro-1": ["c0-lan", "c1-lan", "c2-lan", "c4-lan", "c5-lan"], "metro-2": ["c6-lan"]}
    assert {vcp.description for vcp in intent.vcps.values()} == {"by foot"}
    after = followed(intent, edits.drain(intent, "c2"), {})
    assert members(after.intent) == {
        "metro-1": ["c0-lan", "c1-lan"],
        "metro-2": ["c6-lan"],
        "metro-3": ["c4-lan", "c5-lan"],
    }
    assert [(split.vcp, split.parts) for split in after.splits] == [("metro-1", ("metro-1", "metro-3"))]
    back = followed(after.intent, edits.approve(after.intent, "c2"), {})
    assert members(back.intent)["metro-1"] == ["c0-lan", "c1-lan", "c2-lan"]
    assert members(back.intent)["metro-3"] == ["c2-lan", "c4-lan", "c5-lan"]  # in both, and they are not merged
    alone = followed(back.intent, alter_cloudlet(back.intent, "c6", {"latitude": 50.0, "longitude": 7.0}), {})
    assert members(alone.intent)["metro-4"] == ["c6-lan"] and "metro-2" not in alone.intent.vcps


def test_a_round_trip_can_forbid_what_distance_allows() -> None:
    rules = Rules(vcps={"metro": PolicyVcp("metro", automatic=True, max_rtt_ms=20)})
    intent = region(cloudlet(0, step=0), cloudlet(1, step=1)).but(policy=rules)
    assert len(settled(intent, {"c0": {"c1": 19.0}}).intent.vcps) == 1
    assert len(settled(intent, {"c0": {"c1": 21.0}}).intent.vcps) == 2


def test_a_round_trip_counts_for_whom_a_split_leaves_alone() -> None:
    """c1 goes, and c2 remains alone beside c4, which is near but slow: c2 gets a pool of its own."""
    rules = Rules(vcps={"metro": PolicyVcp("metro", automatic=True, max_rtt_ms=20)})
    rtts = {"c2": {"c4": 50.0}}
    intent = under(region(*(cloudlet(n, step=step) for step, n in enumerate((0, 1, 2, 4)))), rules, rtts)
    assert members(intent) == {"metro-1": ["c0-lan", "c1-lan", "c2-lan"], "metro-2": ["c4-lan"]}
    for edit in (edits.drain(intent, "c1"), edits.remove_endpoint(intent, "c1-lan")):
        assert asked(intent, edit) >= {"c0", "c2"}
        after = followed(intent, edit, between(rtts, asked(intent, edit))).intent
        assert members(after) == {"metro-1": ["c0-lan"], "metro-2": ["c4-lan"], "metro-3": ["c2-lan"]}


def test_a_pool_does_not_change_its_flavour() -> None:
    intent = region(cloudlet(0), cloudlet(1)).with_vcp(Vcp("blue", Flavour.EVPN))
    after = settled(intent.but(policy=Rules(vcps={"blue": PolicyVcp("blue", members=("c0-lan",))})), {})
    assert after.intent.vcps == intent.vcps
    managed = intent.with_vcp(replace(intent.vcps["blue"], managed_by_policy=True))
    assert settled(managed.but(policy=after.intent.policy), {}).intent.vcps == managed.vcps


def test_members_do_not_make_room_for_others() -> None:
    """Their LANs overlap: a present member stays, whatever the names."""
    rules = Rules(vcps={"turin": PolicyVcp("turin", select={"city": frozenset({"turin"})})})
    both = region(cloudlet(0), cloudlet(1), prefixes=(9, 9)).but(policy=rules)
    assert members(settled(both, {}).intent) == {"turin": ["c0-lan"]}
    second = both.with_vcp(Vcp("turin", managed_by_policy=True, members=frozenset({"c1-lan"})))
    after = settled(second, {})
    assert members(after.intent) == {"turin": ["c1-lan"]}
    assert [(out.endpoint, out.waits) for out in after.absent] == [("c0-lan", False)]
    assert "overlaps" in after.absent[0].why


def test_two_lans_of_a_cloudlet_are_not_in_one_pool() -> None:
    rules = Rules(vcps={"turin": PolicyVcp("turin", select={"city": frozenset({"turin"})})})
    intent = edits.add_endpoint(region(cloudlet(0)), Endpoint("c0-more", "c0", 0, 0, "10.99.0.0/24", ""), [])
    after = settled(intent.but(policy=rules), {})
    assert members(after.intent) == {"turin": ["c0-lan"]} and "same cloudlet" in after.absent[0].why


def test_whoever_finds_no_place_at_first_may_find_one_beside_a_later_one() -> None:
    rules = Rules(vcps={"metro": PolicyVcp("metro", automatic=True)})
    intent = region(cloudlet(0, step=1), cloudlet(1, step=2), cloudlet(2, step=0), prefixes=(9, 1, 9)).but(policy=rules)
    there = intent.with_vcp(Vcp("metro-1", Flavour.VPLS, "", True, frozenset({"c2-lan"}), "metro"))
    after = settled(there, {})
    assert members(after.intent) == {"metro-1": ["c2-lan"], "metro-2": ["c0-lan", "c1-lan"]} and not after.absent
