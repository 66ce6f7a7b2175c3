"""Charts for the terminal."""

from hypothesis import given
from hypothesis import strategies as st

from lab import chart
from lab.throughput import Span

SLOTS = [Span("A", 0, 4), Span("B", 4, 9.5), Span("C", 9.5, 20), Span("D", 20, 20.1), Span("E", 20.1, 25)]


@given(st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=500), st.floats(1, 500))
def test_it_fits_a_hundred_columns(rates: list[float], seconds: float) -> None:
    slots = [Span(slot.name, slot.began / 25 * seconds, slot.ended / 25 * seconds) for slot in SLOTS]
    lines = chart.throughput(rates, slots, seconds)
    assert max(map(len, lines)) <= chart.WIDTH
    assert all(slot.name in lines[-2] for slot in slots), "however short a slot is"


def test_what_is_high_is_drawn_high() -> None:
    lines = chart.throughput([16.0] * 100 + [6.0] * 100, SLOTS, 20.0, height=4)
    rows = [line[chart.MARGIN :] for line in lines[1:5]]
    assert rows == ["█" * 44, "█" * 44, "█" * 44 + "▄" * 44, "█" * 88], "the axis ends with 16"
    assert [lines[-1].index(f"{at} s") for at in (2, 4, 18)] == [8 + round(at / 20 * 88) for at in (2, 4, 18)]


def test_a_timeline_has_a_bar_where_the_step_was() -> None:
    lines = chart.timeline([Span("prepare", 1, 2), Span("memory", 2, 10), Span("join", 10, 10)])
    assert lines[1].startswith("memory              2.00 s   8,000 ms  ")
    assert [line[chart.LEFT :] for line in lines] == ["█" * 6, " " * 6 + "█" * 49, " " * 55 + "▏"]
    assert max(map(len, lines)) <= chart.WIDTH
    assert chart.timeline([]) == []


@given(st.floats(1, 1e12))
def test_an_axis_ends_above_its_values(value: float) -> None:
    assert value <= chart.nice(value) <= 2 * value
