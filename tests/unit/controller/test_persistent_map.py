"""Persistent maps compared with plain dicts."""

from hypothesis import given
from hypothesis import strategies as st

from controller.core.persistent_map import PersistentMap, changed

keys = st.text(max_size=3) | st.tuples(st.integers(-5, 5), st.integers(-5, 5))
dicts = st.dictionaries(keys, st.integers(0, 3), max_size=30)
edits = st.lists(st.tuples(keys, st.none() | st.integers(0, 3)), max_size=20)


@given(dicts, edits)
def test_a_table_is_a_mapping_that_never_changes(
    start: dict[object, int], edits: list[tuple[object, int | None]]
) -> None:
    table, plain = PersistentMap(start), dict(start)
    for key, value in edits:
        before, was = table, dict(table)
        if value is None:
            table = table.minus(key)
            plain.pop(key, None)
        else:
            table = table.plus(key, value)
            plain[key] = value
        assert dict(before) == was
        assert dict(table) == dict(table.items()) == plain and table == plain and table == PersistentMap(plain)
        assert (len(table), sorted(table.values())) == (len(plain), sorted(plain.values()))
        assert all(key in table and table[key] == table.get(key) == value for key, value in plain.items())
        assert table.get("nobody", 7) == 7 and "nobody" not in table
    assert (table == start) is (plain == start) is (table == PersistentMap(start))


@given(dicts, dicts, st.sets(keys))
def test_many_at_once(start: dict[object, int], more: dict[object, int], gone: set[object]) -> None:
    plain = {key: value for key, value in start.items() if key not in gone} | more
    assert PersistentMap(start).updated(more, gone) == plain


@given(dicts, edits)
def test_what_has_changed(start: dict[object, object], edits: list[tuple[object, int | None]]) -> None:
    old = PersistentMap({key: [value] for key, value in start.items()})
    new = old
    for key, value in edits:
        new = new.minus(key) if value is None else new.plus(key, [value])
    expected = {key for key in old.keys() | new.keys() if old.get(key) is not new.get(key)}
    for one, other in ((old, new), (new, old), (dict(old), dict(new))):
        found = changed(one, other)
        assert set(found) == expected and len(found) == len(expected)
    assert changed(new, new) == []


def test_the_order_is_that_of_every_process() -> None:
    """The order does not depend on Python's hash of a str, which differs between processes."""
    assert list(PersistentMap({"a": 1, "b": 2, "c": 3}))[:3] == list(PersistentMap([("c", 3), ("a", 1), ("b", 2)]))
    assert list(PersistentMap({f"c{n}": n for n in range(5)}).values()) == [4, 0, 1, 2, 3]
