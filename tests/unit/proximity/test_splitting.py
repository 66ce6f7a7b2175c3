from hypothesis import given
from hypothesis import strategies as st

from controller.core.proximity.nearness import Nearness
from controller.core.proximity.splitting import parts
from tests.unit.proximity.towns import FAMILY, town


def test_a_chain_falls_apart_where_a_link_goes() -> None:
    near = Nearness(town([(1000.0 * n, 0) for n in range(5)]), FAMILY)
    chain = frozenset(f"c{n}-lan" for n in range(1, 6))
    assert parts(chain, near) == [chain]
    assert parts(chain - {"c2-lan"}, near) == [frozenset({"c3-lan", "c4-lan", "c5-lan"}), frozenset({"c1-lan"})]
    assert parts(chain - {"c3-lan"}, near) == [frozenset({"c1-lan", "c2-lan"}), frozenset({"c4-lan", "c5-lan"})]
    assert parts(frozenset(), near) == []


def test_outsiders_do_not_connect() -> None:
    near = Nearness(town([(0, 0), (1000, 0), (2000, 0)]), FAMILY)
    assert parts(frozenset({"c1-lan", "c3-lan"}), near) == [frozenset({"c1-lan"}), frozenset({"c3-lan"})]


edges = st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=14)


@given(st.frozensets(st.integers(0, 9).map(str)), edges)
def test_parts_are_the_classes_of_being_connected(members: frozenset[str], edges: set[tuple[int, int]]) -> None:
    near = {str(n): {str(b) for a, b in edges if a == n} | {str(a) for a, b in edges if b == n} for n in range(10)}
    found = parts(members, lambda name: near[name])
    assert frozenset().union(*found) == members and sum(map(len, found)) == len(members)
    for part in found:
        for name in part:
            assert near[name] & members <= part
        if len(part) > 1:
            half = frozenset({min(part)})
            while grown := frozenset(n for h in half for n in near[h] if n in part) - half:
                half |= grown
            assert half == part
    assert [len(part) for part in found] == sorted(map(len, found), reverse=True)
