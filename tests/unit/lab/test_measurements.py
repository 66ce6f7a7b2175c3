"""Measurements stay from run to run, and their page shows the latest."""

from dataclasses import dataclass
from pathlib import Path

from lab import measurements


@dataclass(frozen=True)
class Taken:
    way: str
    seconds: float | None
    wrong: list[str]


def test_what_was_measured_stays(tmp_path: Path) -> None:
    output, found = tmp_path / "found.json", [Taken("one", 2.0, []), Taken("two", None, ["a"])]
    assert measurements.kept(Taken, output) == []
    measurements.keep(found, output)
    assert measurements.kept(Taken, output) == found and len(output.read_text().splitlines()) == 4


def test_a_page_keeps_its_prose(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"Prose.\n\n{measurements.MARK}\nold\n")
    measurements.show("new\n", page)
    assert page.read_text() == f"Prose.\n\n{measurements.MARK}\nnew\n"
