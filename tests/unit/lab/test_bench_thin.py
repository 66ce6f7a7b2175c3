"""The cells of `make bench-thin`, and its tables."""

from dataclasses import replace

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
    assert len(WAYS) - len(ours) == 4 and len(STATES) == 9


def test_a_state_with_a_disk_has_the_base_of_its_own_image() -> None:
    assert [name for name, state in STATES.items() if state.disk] == ["compile", "database", "service", "workshop"]
    assert all(state.disk is None or state.disk.base == state.image for state in STATES.values())


def test_tables_have_middle_and_spread() -> None:
    figures = {"paused_ms": 200, "stalled_ms": 300, "wire": 5_000_000, "disk": 1_000_000, "processor": 2.5, "rounds": 4}
    found = [moved(seconds, "thin", **figures) for seconds in (3.0, 2.0, 9.0)]
    assert "| idle | thin | 3 | 3.0 (2.0 to 9.0) | 200 | 300 | 5.0 | 1.0 | 2.5 | 4 |" in page.tables(found)


def test_a_move_that_did_not_end_is_told() -> None:
    assert "| idle | plain | 1 | not in time | - | - | - | - | - | - |" in page.tables([moved(None, "plain")])
    assert "| idle | plain | 2 | 7.0 |" in page.tables([moved(7.0, "plain"), moved(None, "plain")])


def test_plots_show_the_middle_of_each_rate() -> None:
    lines = ("10 Mbit/s, 20 ms", "60 Mbit/s, 20 ms", "60 Mbit/s, 50 ms")
    found = [replace(moved(seconds), line=line) for line in lines for seconds in (2.0, 4.0)]
    found += [moved(None, "plain"), replace(moved(9.0), state="work")]
    assert page.groups(found, lambda one: one.seconds or 0) == {"idle": {"thin": {10.0: 3.0, 60.0: 3.0}}}


def test_ours_are_divided_by_what_qemu_needs() -> None:
    ours = moved(2.0, paused_ms=100, wire=10, disk=10)
    found = [ours, moved(8.0, "plain", paused_ms=200, wire=40), moved(None, "zstd")]
    assert page.ratios(found)[2:] == ["| 60 Mbit/s, 20 ms | idle | thin | 0.25 | - | 0.50 | 0.50 | - |"]
