"""Plots: all texts that a reader needs are in them, and the same figures give the same file."""

from pathlib import Path
from xml.etree import ElementTree

from lab import plot
from lab.throughput import Span

SLOTS = [Span("A", 0, 4, "side by side"), Span("B", 4, 10, "no link")]
STEPS = [Span("memory", 5, 8.2), Span("join", 8.2, 8.3)]


def words(svg: Path) -> list[str]:
    return ["".join(element.itertext()).strip() for element in ElementTree.parse(svg).iter() if "text" in element.tag]


def test_throughput_names_slots_steps_and_units(tmp_path: Path) -> None:
    drawn = [plot.throughput(tmp_path / name, "A walk", [16.0] * 100, SLOTS, STEPS, seconds=10.0) for name in "ab"]
    svg, png = drawn[0]
    assert {"A walk", "A", "B", "memory", "join", "3.2 s", "100 ms"} <= set(words(svg))
    assert {"received by the device, Mbit/s", "seconds since the stream began"} <= set(words(svg))
    assert png.read_bytes().startswith(b"\x89PNG")
    assert svg.read_bytes() == drawn[1][0].read_bytes()


def test_panels_name_their_lines_and_take_what_there_is(tmp_path: Path) -> None:
    groups = {"350 Mbit/s": {"here": {20.0: 5.0, 50.0: 6.0}}, "60 Mbit/s": {"there": {20.0: 25.0}}, "none": {}}
    drawn = [plot.panels(tmp_path / name, "How long", "round trip, ms", "seconds", groups) for name in "ab"]
    assert {"How long", "seconds", "round trip, ms", *groups, "here", "there"} <= set(words(drawn[0]))
    assert drawn[0].read_bytes() == drawn[1].read_bytes()
    assert plot.panels(tmp_path / "nothing", "Nothing", "x", "y", {}).is_file()
