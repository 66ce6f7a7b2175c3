from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core import edits
from controller.core.intent import CloudletState, Intent, Vcp
from controller.core.policy.model import Proximity
from controller.core.proximity.nearness import Medians
from controller.core.proximity.placing import Placement, explain, place
from controller.wire.flavours import Flavour
from tests.unit.proximity.towns import FAMILY, cloudlet, lan, pool, town

spots = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=1, max_size=12).map(
    lambda found: [(x * 250.0, y * 400.0) for x, y in found]
)


def settled(intent: Intent, medians: Medians | None = None) -> Intent:
    for name in sorted(intent.endpoints):
        intent = place(intent, FAMILY, name, medians).intent
    return intent


def placed(intent: Intent, name: str, medians: Medians | None = None) -> Placement:
    return place(intent, FAMILY, f"{name}-lan", medians)


def pools(intent: Intent) -> dict[str, set[str]]:
    return {name: {member.removesuffix("-lan") for member in vcp.members} for name, vcp in intent.vcps.items()}


def test_near_one_joins() -> None:
    intent = pool(town([(0, 0), (1000, 0), (1900, 0)]), "town-1", "c1", "c2")
    answer = placed(intent, "c3")
    assert answer.joins == ("town-1",) and answer.founds is None and answer.refused is None
    assert pools(answer.intent) == {"town-1": {"c1", "c2", "c3"}}
    assert answer.answers[0].nearest.endpoint == "c2-lan"


def test_near_two_joins_both_and_they_stay_apart() -> None:
    """Teka, figure 5: CE3 is in both VPNs."""
    intent = pool(pool(town([(0, 0), (1800, 0), (900, 0)]), "town-1", "c1"), "town-2", "c2")
    answer = placed(intent, "c3")
    assert answer.joins == ("town-1", "town-2")
    assert pools(answer.intent) == {"town-1": {"c1", "c3"}, "town-2": {"c2", "c3"}}
    assert not answer.intent.share("c1-lan", "c2-lan")


def test_near_none_founds_one() -> None:
    intent = pool(town([(0, 0), (1100, 0)]), "town-1", "c1")
    answer = placed(intent, "c2")
    assert answer.founds == "town-2" and not answer.joins
    founded = answer.intent.vcps["town-2"]
    assert founded == Vcp("town-2", Flavour.VPLS, "", True, frozenset({"c2-lan"}), "town")


def test_pools_of_others_do_not_count() -> None:
    intent = edits.add_vcp(town([(0, 0), (10, 0)]), Vcp("blue", members=frozenset({"c1-lan"})))
    assert placed(intent, "c2").founds == "town-1"


@pytest.mark.parametrize(("rtt", "joins"), [(149.0, True), (150.0, True), (150.1, False), (None, True)])
def test_a_long_round_trip_forbids_what_distance_allows(rtt: float | None, joins: bool) -> None:
    intent = pool(town([(0, 0), (500, 0)]), "town-1", "c1")
    rule = replace(FAMILY, max_rtt_ms=150.0)
    for medians in ({"c1": {"c2": rtt}}, {"c2": {"c1": rtt}}) if rtt is not None else ({},):
        answer = place(intent, rule, "c2-lan", medians)
        assert bool(answer.joins) is joins
        assert answer.founds == (None if joins else "town-2")
    assert place(intent, FAMILY, "c2-lan", {"c1": {"c2": 9999.0}}).joins == ("town-1",)


def test_one_member_with_a_short_round_trip_is_enough() -> None:
    intent = pool(town([(0, 0), (100, 0), (200, 0)]), "town-1", "c1", "c2")
    rule = replace(FAMILY, max_rtt_ms=20.0)
    answer = place(intent, rule, "c3-lan", {"c3": {"c2": 500.0, "c1": 5.0}})
    assert answer.joins == ("town-1",) and answer.answers[0].nearest.endpoint == "c1-lan"


def test_an_overlap_of_prefixes_is_told_and_founds_nothing() -> None:
    intent = pool(town([(0, 0), (500, 0)]), "town-1", "c1")
    intent = intent.with_endpoint(lan("c2", "10.0.1.0/24"))
    answer = placed(intent, "c2")
    assert not answer.joins and answer.founds is None and answer.intent is intent
    assert answer.refused is not None and "10.0.1.0/24 of c2-lan overlaps" in answer.refused


def test_refused_by_one_pool_it_still_joins_the_other() -> None:
    intent = pool(pool(town([(0, 0), (1800, 0), (900, 0)]), "town-1", "c1"), "town-2", "c2")
    intent = intent.with_endpoint(lan("c3", "10.0.1.0/24"))
    answer = placed(intent, "c3")
    assert answer.joins == ("town-2",) and answer.refused is None
    assert "overlaps" in (answer.answers[0].why_not or "")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"latitude": None}, "nobody said where its cloudlet c2 is"),
        ({"state": CloudletState.DRAINING}, "its cloudlet c2 is draining"),
        ({"pe": Flavour.EVPN}, "c2-lan is evpn, and town is a family of vpls pools"),
    ],
)
def test_who_cannot_be_placed(change: dict[str, object], reason: str) -> None:
    intent = pool(town([(0, 0), (500, 0)]), "town-1", "c1")
    intent = intent.with_cloudlet(replace(intent.cloudlets["c2"], **change))  # type: ignore[arg-type]
    answer = placed(intent, "c2")
    assert answer.refused == reason and answer.intent is intent
    assert explain(answer) == [f"c2-lan is not placed: {reason}"]


def test_who_is_in_a_pool_stays_there() -> None:
    intent = pool(town([(0, 0), (500, 0)]), "town-1", "c1", "c2")
    assert placed(intent, "c2").refused == "it is in town-1 already"
    assert placed(intent, "c9").refused == "there is no endpoint 'c9-lan'"


def test_a_member_without_a_place_draws_nobody() -> None:
    intent = pool(town([(0, 0), (0, 0)]), "town-1", "c1")
    intent = intent.with_cloudlet(replace(intent.cloudlets["c1"], latitude=None, longitude=None))
    assert placed(intent, "c2").founds == "town-2"


def test_the_reasons_in_words() -> None:
    intent = pool(pool(town([(0, 0), (0, 1800), (0, 900)]), "town-1", "c1"), "town-2", "c2")
    answer = place(intent, replace(FAMILY, max_rtt_ms=150.0), "c3-lan", {"c3": {"c2": 400.0, "c1": 12.0}})
    assert explain(answer) == [
        "town-1: c1-lan is 899 m away, up to 1,036 m is near; round trip 12 ms; it joins",
        "town-2: c2-lan is 899 m away, up to 1,036 m is near; round trip 400 ms; it does not join: every round trip to "
        "a member nearby is too long",
    ]
    assert explain(placed(town([(0, 0)]), "c1")) == [
        "town-1: it founds this pool, for it is near no member of another of town"
    ]


@given(spots)
def test_membership_is_never_transitive(spots: list[tuple[float, float]]) -> None:
    """A newcomer changes nothing for present members, and is in a pool exactly if it is near a member."""
    intent = town(spots)
    for name in sorted(intent.endpoints):
        before, answer = intent, place(intent, FAMILY, name)
        intent = answer.intent
        here = before.cloudlets[name.removesuffix("-lan")].place
        assert here is not None
        for vcp in before.vcps.values():
            near = any(_flat(spots, name, member) <= 1030 for member in vcp.members)
            far = all(_flat(spots, name, member) >= 1042 for member in vcp.members)
            assert vcp.members <= intent.vcps[vcp.name].members <= vcp.members | {name}
            assert not (near and name not in intent.vcps[vcp.name].members)
            assert not (far and name in intent.vcps[vcp.name].members)
        others = before.endpoints.keys() - {name}
        for one in others:
            assert intent.remotes(one) - {name} == before.remotes(one)


def _flat(spots: list[tuple[float, float]], one: str, other: str) -> float:
    (x, y), (u, v) = (spots[int(name[1:].removesuffix("-lan")) - 1] for name in (one, other))
    return float(((x - u) ** 2 + (y - v) ** 2) ** 0.5)


@given(spots)
def test_everybody_is_placed_once_and_twice_changes_nothing(spots: list[tuple[float, float]]) -> None:
    intent = settled(town(spots))
    assert intent.pools_of.keys() == intent.endpoints.keys()
    assert settled(intent) is intent


def test_placed_by_another_coverage() -> None:
    intent = pool(town([(0, 0), (1100, 0)], Proximity(coverage_m=200)), "town-1", "c1")
    assert placed(intent, "c2").joins == ("town-1",)


def test_a_moved_cloudlet_is_found_where_it_is_now() -> None:
    intent = pool(town([(0, 0), (9000, 0), (100, 0)]), "town-1", "c1")
    assert placed(intent, "c3").joins == ("town-1",)
    intent = intent.with_cloudlet(cloudlet("c1", 9000, 0))
    assert placed(intent, "c3").founds == "town-2" and placed(intent, "c2").joins == ("town-1",)


def test_a_number_is_never_another_pools() -> None:
    intent = place(town([(0, 0), (9000, 0)]), FAMILY, "c1-lan").intent
    assert placed(intent.without_vcp("town-1"), "c2").founds == "town-2"
    assert placed(pool(intent, "town-7", "c1").without_vcp("town-7"), "c2").founds == "town-8"
    taken = intent.with_vcp(Vcp("town-2"))
    assert placed(taken, "c2").founds == "town-3", "the name of a pool that somebody made by hand"
