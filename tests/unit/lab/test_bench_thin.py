"""The cells of `make bench-thin`, and its tables."""

from lab.bench_thin import page
from lab.bench_thin.cases import STATES, WAYS, Line, lines
from lab.bench_thin.trial import Moved


def moved(seconds: float | None, way: str = "thin", **changes: float) -> Moved:
    return Moved("60 Mbit/s, 20 ms", "idle", way, seconds, **changes)  # type: ignore[arg-type]


def test_every_line_once_the_slowest_first() -> None:
    found = lines([60, 10], [20.0], [0.0, 1.0])
    assert found == [Line(10, 20, 0), Line(10, 20, 1), Line(60, 20, 0), Line(60, 20, 1)]
    assert [line.name for line in found][:2] == ["10 Mbit/s, 20 ms", "10 Mbit/s, 20 ms, 1 % lost"]


def test_ways_beside_ours_are_qemus_own() -> None:
    assert len({way.name for way in WAYS}) == len(WAYS)
    ours = [way for way in WAYS if way.options.get("compression") == "thin"]
    assert {way.name for way in ours} == {way.name for way in WAYS if way.name.startswith("thin")}
    assert all(way.tuning.keep is not None for way in ours if way.home)
    assert len(WAYS) - len(ours) == 4 and set(STATES) == {"idle", "work", "dirty", "workshop"}


def test_a_state_with_a_disk_has_the_base_of_its_own_image() -> None:
    assert [name for name, state in STATES.items() if state.disk] == ["workshop"]
    assert all(state.disk is None or state.disk.base == state.image for state in STATES.values())


def test_tables_have_middle_and_spread() -> None:
    found = [moved(seconds, paused_ms=200, wire=5_000_000, rounds=4) for seconds in (3.0, 2.0, 9.0)]
    assert "| idle | thin | 3 | 3.0 (2.0 to 9.0) | 200 | 5.0 | 4 |" in page.tables(found)


def test_a_move_that_did_not_end_is_told() -> None:
    assert "| idle | plain | 1 | not in time | - | - | - |" in page.tables([moved(None, "plain")])
    assert "| idle | plain | 2 | 7.0 |" in page.tables([moved(7.0, "plain"), moved(None, "plain")])
