"""The figures of a move from its observations, cases as topologies, and the page from the figures."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.bench_move import __main__ as command
from lab.bench_move import kept, page
from lab.bench_move.cases import POLICY, QUICK, Case, Way, cases, topology
from lab.bench_move.figures import Figures, Moved, Seen, figures, gap, rate, rtt
from lab.bench_move.kept import Run
from lab.bench_move.saga import moved
from lab.bench_move.tables import beyond_pause, panels, steps, two_to_one
from lab.errors import LabError
from lab.plan import plan
from lab.topology import load

FIGURES = Figures(
    20.0, 15.0, 200.0, 300.0, 400.0, 150_000_000, 140_000_000, 1, 50e6, 8e6, 200e6, 20.0, 40.0, 1.0, {"memory": 9.5}
)


def run(case: Case, way: Way, seconds: float = 20.0) -> Run:
    return Run(case, way, replace(FIGURES, seconds=seconds), "2026-01-02T03:04:05+00:00", 1.5, 2, "Some CPU, Linux 6.1")


def test_figures_of_a_move() -> None:
    """The move is ordered at 100; there is silence from 109 to 109.3, then the old address answers until 110, the new
    one from 109.4."""
    old = [(98 + k / 10, 20.0) for k in range(111)] + [(109.3 + k / 10, 2.0) for k in range(8)]
    new = [(109.4 + k / 10, 1.0) for k in range(30)]
    stream = [(98 + k / 100, 10_000.0) for k in range(1120)] + [(109.6 + k / 100, 10_000.0) for k in range(300)]
    found = figures(Moved(100.0, 110.5, 250.0, 7, 2, {"memory": 9.0}), Seen(old, new, stream, 9, 1e6, 2e6))
    assert (found.seconds, found.answering_seconds) == pytest.approx((10.5, 9.3))
    assert (found.down_ms, found.stall_ms) == pytest.approx((300, 410))
    assert found.during == pytest.approx(8 * 10_000 * 920 / 9.3)
    assert (found.rtt_before_ms, found.rtt_during_ms, found.rtt_after_ms) == (20, 20, 1)
    assert (found.paused_ms, found.memory_bytes, found.wan_bytes, found.paths) == (250, 7, 9, 2)
    assert (found.before, found.after) == (1e6, 2e6)


def test_an_address_that_goes_is_no_downtime() -> None:
    old = [(k / 100, 20.0) for k in range(1000)]
    new = [(9 + k / 100, 1.0) for k in range(400)]
    stream = [(k / 100, 1.0) for k in range(1300)]
    assert figures(Moved(2, 11, 0, 0, 1, {}), Seen(old, new, stream, 0, 0, 0)).down_ms == pytest.approx(10)


@pytest.mark.parametrize("times", [[], [1.0], [1.0, 2.0, 3.0], [11.0, 12.0]])
def test_the_end_of_all_is_no_gap(times: list[float]) -> None:
    with pytest.raises(ValueError, match="nothing came"):
        gap(times, 0, 10)


def test_a_gap_counts_with_all_of_its_length() -> None:
    assert gap([0.0, 1.0, 9.0, 14.0, 20.0, 40.0], 2, 10) == (1, 9)
    assert gap([0.0, 1.0, 8.0, 19.0, 20.0, 40.0], 2, 10) == (8, 19)


@given(st.lists(st.floats(0, 100, allow_nan=False), min_size=2, max_size=50))
def test_a_gap_is_the_longest_and_holds_nothing(times: list[float]) -> None:
    ordered = sorted([*times, 0.0, 100.0])
    begin, end = gap(ordered, 0, 100)
    assert not any(begin < at < end for at in ordered)
    assert all(b - a <= end - begin for a, b in pairwise(ordered))


def test_rates_and_round_trips_need_something() -> None:
    assert rate([(0.0, 10), (0.5, 10), (1.0, 10)], 0, 1) == 160
    with pytest.raises(ValueError, match="without length"):
        rate([], 1, 1)
    with pytest.raises(ValueError, match="no ping"):
        rtt([(5.0, 1.0)], 0, 4)


@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize("case", cases(), ids=str)
def test_every_case_is_a_region(case: Case, way: Way, tmp_path: Path) -> None:
    path = tmp_path / "region.yaml"
    path.write_text(topology(case, way))
    (tmp_path / "policy.yaml").write_text(POLICY)
    region = load(path)
    made = plan(region)
    assert 2 * made.delay_ms("c1", "c2") == case.rtt_ms
    assert len(made.paths("c1")) == len(made.paths("c2")) == (2 if way is Way.TWO else 1)
    assert {link.rate_mbit for link in region.links if link.shaped} == {case.rate_mbit}
    assert all(2 * link.delay_ms == case.rtt_ms for link in region.links if link.bypass)
    assert [machine.endpoint for _, machine in region.machines] == ["c1-lan"]


def test_quick_is_some_of_all() -> None:
    assert len(cases()) == 12 and set(QUICK) < set(cases())


def test_a_move_as_rest_tells_it() -> None:
    steps = [
        {"step": "memory", "undoing": False, "state": "done", "seconds": 9.0, "figures": {"wire": 5, "paths": 2}},
        {
            "step": "switchover",
            "undoing": False,
            "state": "done",
            "seconds": 0.5,
            "figures": {"wire": 8, "paused_ms": 210.5},
        },
    ]
    told = {"created_at": "2026-01-02T03:04:05Z", "ended_at": "2026-01-02T03:04:15.5Z", "steps": steps}
    found = moved(told)
    assert found.ended - found.began == 10.5
    assert (found.paused_ms, found.memory_bytes, found.paths) == (210.5, 13, 2)  # each act reports its own bytes
    assert found.steps == {"memory": 9.0, "switchover": 0.5}


def test_the_page_has_medians_and_says_what_is_missing() -> None:
    runs = [run(Case(20, 60), Way.ONE, seconds=s) for s in (10.0, 30.0, 12.0)]
    runs.append(run(Case(20, 60), Way.TWO, seconds=6.0))
    text = page.page(runs)
    assert "| | Weft, one path | 12.0 | - | - | - |" in text
    assert "| 350 | QEMU and a tunnel | - | - | - | - |" in text
    assert "| | *Teka* | 8.1 | 9.9 | 15.6 | 23.0 |" in text
    assert "| 20 ms | 12.0 | 6.0 | **0.50** |" in text and "Missed in 0 of 1 cells." in text
    assert "Cells are medians of up to 3 moves" in text
    assert "**Not measured**" in text and "; 20 ms, 60 Mbit/s (QEMU and a tunnel); " in text.replace("\n", " ")
    assert max(len(line) for line in text.splitlines() if not line.startswith("|")) <= 120


def test_the_stall_beyond_the_pause_is_held_against_its_bar() -> None:
    """The medians count. A stall as long as the bar misses it; if the pause is longer than the stall, 0 remains."""

    def stalled(case: Case, way: Way, stall_ms: float) -> Run:
        found = run(case, way)
        return replace(found, figures=replace(found.figures, stall_ms=stall_ms))

    case = Case(20, 60)
    runs = [stalled(case, Way.ONE, ms) for ms in (519.0, 400.0, 9000.0)] + [stalled(case, Way.TWO, 520.0)]
    runs += [stalled(Case(50, 60), Way.ONE, 100.0), stalled(case, Way.PLAIN, 9000.0)]
    told = beyond_pause(runs).splitlines()
    assert told[-5:-2] == [
        "| 60 | Weft, one path | 319 | 0 | - | - |",
        "| | Weft, two paths | 320 | - | - | - |",
        "| | *below* | 320 | 350 | 400 | 450 |",
    ]
    assert told[-1] == "Missed in 1 of 3 cells." and "QEMU" not in "".join(told)
    assert "## Stall beyond the pause\n" in page.page(runs)


def test_cells_that_two_paths_miss_are_told_in_words() -> None:
    runs = [run(Case(rtt, 60), Way.ONE, seconds=20.0) for rtt in (20, 50, 100)]
    runs += [run(Case(rtt, 60), Way.TWO, seconds=s) for rtt, s in ((20, 12.0), (50, 12.4), (100, 15.0))]
    assert two_to_one(runs).splitlines()[-1] == "Missed in 2 of 3 cells: 50 ms (0.62), 100 ms (0.75)."
    assert "Missed" not in two_to_one(runs[:3])


def test_a_page_of_everything_misses_nothing() -> None:
    text = page.page([run(case, way) for case in cases() for way in Way])
    assert "Not measured" not in text and "| - |" not in text.split("Teka")[0]


def test_plots_have_what_there_is() -> None:
    runs = [run(Case(20, 60), Way.ONE), run(Case(50, 60), Way.ONE, seconds=7.0)]
    found = panels(runs, lambda figures: figures.seconds, {Case(50, 60): 24.0})
    assert found == {
        "350 Mbit/s": {},
        "175 Mbit/s": {},
        "60 Mbit/s": {"Weft, one path": {20: 20.0, 50: 7.0}, "Teka": {50: 24.0}},
    }


def test_steps_are_told_by_way() -> None:
    told = steps([run(Case(20, 60), Way.TWO), run(Case(50, 60), Way.PLAIN)])
    assert told.splitlines()[0] == "| step | QEMU and a tunnel | Weft, two paths |"
    assert told.splitlines()[2:] == ["| memory | 9.50 | 9.50 |"]


def test_figures_are_kept_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    assert kept.read(path) == []
    runs = [run(Case(20, 60), Way.ONE), run(Case(150, 350), Way.TWO)]
    kept.write(path, runs)
    assert kept.read(path) == runs
    path.write_text('{"runs": [{"case": 7}]}')
    with pytest.raises(LabError, match="has no figures"):
        kept.read(path)


def test_new_figures_take_the_place_of_older_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed move is reported, keeps its earlier figures, and does not stop the measurement of others."""
    asked: list[tuple[Case, Way]] = []

    def once(case: Case, way: Way) -> Figures:
        asked.append((case, way))
        if way is Way.TWO:
            raise LabError("nobody joined")
        return FIGURES

    monkeypatch.setattr(command, "once", once)
    case, path = Case(20, 60), tmp_path / "kept.json"
    runs = [run(case, Way.ONE, seconds=s) for s in (1.0, 2.0)] + [run(case, Way.TWO, seconds=3.0)]
    failed = command.measure([case], tuple(Way), 1, False, runs, path)
    assert failed == ["20 ms, 60 Mbit/s, two: nobody joined"]
    assert [(r.way, r.figures.seconds) for r in kept.read(path)] == [("two", 3.0), ("plain", 20.0), ("one", 20.0)]
    asked.clear()
    assert command.measure([case], tuple(Way), 1, True, runs, path) == [] and asked == []
