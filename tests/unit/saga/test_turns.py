"""The order of waiting moves, and the destinations of the VMs of an evacuated cloudlet."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from controller.core.admission import Journey, admitted
from controller.core.drains import Leaver, Link, plan

NAMES = ("c1", "c2", "c3", "c4")
ends = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] != pair[1])


@st.composite
def journeys(draw: st.DrawFn, prefix: str) -> list[Journey]:
    pairs = draw(st.lists(st.tuples(ends, st.booleans()), max_size=12))
    return [Journey(f"{prefix}{n}", source, to, held) for n, ((source, to), held) in enumerate(pairs)]


@given(journeys("w"), journeys("m"), st.integers(1, 3), st.integers(1, 4))
def test_no_link_and_no_cloudlet_has_more_than_it_may(
    waiting: list[Journey], moving: list[Journey], per_link: int, per_cloudlet: int
) -> None:
    chosen = admitted(waiting, moving, per_link, per_cloudlet)
    begun = [one for one in waiting if one.name in chosen]
    links = Counter((one.source, one.destination) for one in (*moving, *begun))
    cloudlets = Counter(name for one in (*moving, *begun) for name in (one.source, one.destination))
    for one in begun:
        assert not one.held
        assert links[one.source, one.destination] <= per_link
        assert max(cloudlets[one.source], cloudlets[one.destination]) <= per_cloudlet
    for one in waiting:  # no move waits that could begin beside the chosen ones
        if one.name not in chosen and not one.held:
            full = max(cloudlets[one.source], cloudlets[one.destination]) >= per_cloudlet
            assert full or links[one.source, one.destination] >= per_link
    assert chosen == [one.name for one in waiting if one.name in chosen]


@st.composite
def leavers(draw: st.DrawFn) -> list[Leaver]:
    sizes = draw(st.lists(st.integers(1, 1 << 34), max_size=15))
    may = st.frozensets(st.sampled_from(NAMES))
    where = st.sampled_from([None, *NAMES])
    return [Leaver(f"v{n}", size, draw(may), draw(where)) for n, size in enumerate(sizes)]


links_ = st.dictionaries(
    st.sampled_from(NAMES), st.builds(Link, st.one_of(st.none(), st.floats(1e6, 1e10)), st.floats(0, 150)), max_size=4
)


@given(leavers(), links_)
def test_everybody_leaves_once_and_only_to_where_they_may(some: list[Leaver], links: dict[str, Link]) -> None:
    drain = plan(some, links)
    assert sorted([leg.vm for leg in drain.legs] + list(drain.stranded)) == sorted(one.name for one in some)
    by_name = {one.name: one for one in some}
    for leg in drain.legs:
        one = by_name[leg.vm]
        assert leg.endpoint in one.may & links.keys()
        assert one.device_at not in one.may & links.keys() or leg.endpoint == one.device_at
    for name in drain.stranded:
        assert not by_name[name].may & links.keys()
    assert plan(reversed(some), links) == drain


@given(leavers(), links_)
def test_the_links_are_busy_together(some: list[Leaver], links: dict[str, Link]) -> None:
    """If n links are in use, the first n moves all use different links."""
    drain = plan(some, links)
    used = {leg.endpoint for leg in drain.legs}
    first = [leg.endpoint for leg in drain.legs[: len(used)]]
    assert len(set(first)) == len(first)


def test_the_quick_link_takes_more() -> None:
    four = [Leaver(f"v{n}", 1 << 30, frozenset({"near", "far"})) for n in range(4)]
    drain = plan(four, {"near": Link(3e8, 5), "far": Link(1e8, 50)})
    assert Counter(leg.endpoint for leg in drain.legs) == {"near": 3, "far": 1}
