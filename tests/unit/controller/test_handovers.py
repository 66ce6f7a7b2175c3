"""The order in which owners take values that others give up."""

from hypothesis import given
from hypothesis import strategies as st

from controller.core.handovers import in_order


def test_a_value_is_given_up_before_it_is_taken() -> None:
    before, after = {"a": 1, "b": 2, "c": 3}, {"a": 2, "b": 3, "c": 4}
    assert in_order(before, before.get, after.get) == ["c", "b", "a"]
    nobody: dict[str, int] = {}
    assert in_order(["a", "b"], nobody.get, {"a": 1, "b": 2}.get) == ["a", "b"]


def test_an_exchange_has_no_order() -> None:
    before, after = {"a": 1, "b": 2, "c": 3}, {"a": 2, "b": 1, "c": 3}
    assert sorted(in_order(before, before.get, after.get)) == ["a", "b", "c"]


def test_a_chain_may_be_long() -> None:
    names = [f"c{number}" for number in range(20_000)]
    before = {name: number for number, name in enumerate(names)}
    after = {name: number + 1 for number, name in enumerate(names)}
    assert in_order(names, before.get, after.get) == names[::-1]


@given(st.permutations(range(8)), st.lists(st.one_of(st.none(), st.integers(0, 15)), min_size=8, max_size=8))
def test_each_name_comes_once_and_no_two_have_a_value(start: list[int], end: list[int | None]) -> None:
    names = [f"c{number}" for number in range(8)]
    before = dict(zip(names, start, strict=True))
    wanted = [value for value in end if value is not None]
    if len(set(wanted)) < len(wanted):
        return
    after = dict(zip(names, end, strict=True))
    order = in_order(names, before.get, after.get)
    assert sorted(order) == names
    held: dict[str, int | None] = dict(before)
    exchanges = _exchanging(before, after)
    for name in order:
        others = {value for other, value in held.items() if other != name and other not in exchanges}
        assert after[name] is None or after[name] not in others or name in exchanges
        held[name] = after[name]


def _exchanging(before: dict[str, int], after: dict[str, int | None]) -> set[str]:
    """Return the names that take values from each other in a circle."""
    owners = {value: name for name, value in before.items()}
    found: set[str] = set()
    for first in before:
        name: str | None = first
        for _ in before:
            value = after[name] if name is not None else None
            name = owners.get(value) if value is not None and value != before[name or ""] else None
            if name == first:
                found.add(first)
                break
    return found
