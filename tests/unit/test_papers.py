"""The page on the papers names existing parts of the code."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "contribute" / "papers.md"
PAPERS = ("CloudNet", "Teka", "Chaufournier", "Ha et al.", "Ma et al.")


def test_every_place_that_is_named_is_there() -> None:
    named = set(re.findall(r"`((?:agents|controller|routeserver)/[a-z0-9_/.]+)`", PAGE.read_text()))
    assert len(named) > 20
    assert not [path for path in sorted(named) if not (ROOT / path).exists()]


def test_every_paper_has_its_part() -> None:
    headings = re.findall(r"^## (.*)$", PAGE.read_text(), re.MULTILINE)
    assert all(any(heading.startswith(paper) for heading in headings) for paper in PAPERS)


def test_each_row_says_where_it_is_or_that_it_is_not_there() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if re.match(r"\| [A-Z]", line)]
    assert rows
    for row in rows:
        assert "`" in row[1] or "Not there" in row[2], row[0]
