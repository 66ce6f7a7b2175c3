import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.policy.model import Proximity, Site
from controller.core.proximity.geodesic import Position
from controller.core.proximity.reach import limit, near, reach

sites = st.builds(
    Site,
    coverage_m=st.none() | st.floats(0, 500),
    rto_seconds=st.none() | st.floats(0, 2000),
    walking_speed=st.none() | st.floats(0, 3),
    address_seconds=st.none() | st.floats(0, 3000),
)
HERE, THERE = Position(45, 7), Position(45.009, 7)
"""Two places, 1000.2 m apart."""


def test_the_papers_figure() -> None:
    assert reach(Proximity(coverage_m=0), "c1") == pytest.approx(936)
    assert reach(Proximity(), "c1") == pytest.approx(1036)


def test_every_term_counts() -> None:
    policy = Proximity(coverage_m=50, rto_seconds=100, walking_speed=2, address_seconds=10)
    assert reach(policy, "c1") == pytest.approx(50 + 90 * 2)
    assert reach(policy, "c1", rtt_ms=4000) == pytest.approx(50 + 88 * 2)
    assert reach(Proximity(coverage_m=50, address_seconds=1000), "c1") == 50


def test_a_site_has_its_own_terms() -> None:
    policy = Proximity(sites={"c1": Site(coverage_m=0, rto_seconds=10, walking_speed=0.5, address_seconds=2)})
    assert reach(policy, "c1") == pytest.approx(4)
    assert reach(policy, "c2") == pytest.approx(1036)
    assert limit(policy, "c1", "c2") == limit(policy, "c2", "c1") == pytest.approx(4)


def test_near_up_to_the_limit_and_never_without_a_place() -> None:
    assert near(Proximity(), ("a", HERE), ("b", THERE))
    assert not near(Proximity(coverage_m=64), ("a", HERE), ("b", THERE))
    assert near(Proximity(coverage_m=0), ("a", HERE), ("b", HERE))
    for a, b in ((None, HERE), (HERE, None), (None, None)):
        assert not near(Proximity(coverage_m=1e9), ("a", a), ("b", b))


@given(sites, sites, st.floats(0, 2000))
def test_near_is_symmetric_and_asks_both(one: Site, other: Site, rtt: float) -> None:
    policy = Proximity(sites={"a": one, "b": other})
    assert limit(policy, "a", "b", rtt) == limit(policy, "b", "a", rtt)
    assert limit(policy, "a", "b", rtt) <= min(reach(policy, "a", rtt), reach(policy, "b", rtt))
    assert near(policy, ("a", HERE), ("b", THERE), rtt) == near(policy, ("b", THERE), ("a", HERE), rtt)
