"""The manual's sources: every page of docs is in its navigation, and no link of a page is dead."""

from pathlib import Path

import pytest

from deploy.manual.index import Section, sections, titled
from deploy.manual.links import rewritten, targets
from deploy.manual.pages import INDEX, NotMade, for_python_markdown, prepared
from deploy.manual.site import navigation
from tests.house.imports import ROOT

README = """# docs

## Operators

- [`operate/a.md`](operate/a.md): the first
- [`operate/b.md`](operate/b.md): the second,
  in two lines

## Reference

- [`reference/c.json`](reference/c.json): no page
"""


def test_every_page_of_docs_is_a_page_of_the_manual() -> None:
    sources = prepared(ROOT)
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    assert there <= sources.pages.keys()
    shown = {page for section in sources.navigation for page in section.pages}
    assert there == {page for page in shown if not page.startswith("repository/")}
    assert sources.pages.keys() == shown | {"index.md"}
    assert {"reference/openapi.json", "reports/soak.svg"} <= sources.files.keys()
    assert [section.title for section in sources.navigation][:2] == ["Operators", "Policy authors"]


def test_the_index_has_sections_with_pages() -> None:
    assert sections(README) == (Section("Operators", ("operate/a.md", "operate/b.md")),)
    text = titled(README, {"operate/a.md": "The A"})
    assert text.startswith("# Weft\n") and "[The A](operate/a.md): the first" in text
    assert "[`reference/c.json`](reference/c.json)" in text


def test_a_link_to_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "docs/operate").mkdir(parents=True)
    (tmp_path / INDEX).write_text(README)
    (tmp_path / "docs/operate/a.md").write_text("# A\n\nSee [there](gone.md).\n")
    (tmp_path / "docs/operate/b.md").write_text("# B\n")
    (tmp_path / "docs/reference").mkdir()
    (tmp_path / "docs/reference/c.json").write_text("{}")
    with pytest.raises(NotMade, match=r"docs/operate/a\.md links to docs/operate/gone\.md, which is not there"):
        prepared(tmp_path)
    (tmp_path / "docs/operate/gone.md").write_text("# Gone\n")
    assert prepared(tmp_path).files == {"reference/c.json": b"{}"}


PLACES = {"docs/operate/a.md": "operate/a.md", "docs/b.svg": "b.svg", "deploy/README.md": "repository/deploy/index.md"}


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("[a](a.md)", "[a](a.md)"),
        ("[a](a.md#one)", "[a](a.md#one)"),
        ("[here](#one)", "[here](#one)"),
        ("![b](../b.svg)", "![b](../b.svg)"),
        ("[deploy](../../deploy/README.md#x)", "[deploy](../repository/deploy/index.md#x)"),
        ("[the code](../../agents/main.py)", "the code (`agents/main.py`)"),
        ("[`agents/main.py`](../../agents/main.py)", "`agents/main.py`"),
        ("[out](https://example.org/a.md)", "[out](https://example.org/a.md)"),
        ("[`a]`](a.md)", "[`a]`](a.md)"),
    ],
)
def test_a_link_leads_to_its_place_or_becomes_a_path(link: str, becomes: str) -> None:
    fence = f"```\n{link}\n```\n"
    assert rewritten("docs/operate/a.md", f"{link} x\n{fence}", PLACES.get) == f"{becomes} x\n{fence}"


def test_links_in_blocks_of_code_are_none() -> None:
    assert list(targets("docs/x.md", "[a](a.md)\n```\n[b](b.md)\n```\n[c](../c.md)")) == ["docs/a.md", "c.md"]


def test_pages_are_in_the_dialect_of_python_markdown() -> None:
    text = "## A\n| a |\n| --- |\n- one\n  - two\n```sh on=a,b\n  - three\n| b |\n```\n"
    said = "## A\n\n| a |\n| --- |\n- one\n    - two\n```sh\n  - three\n| b |\n```\n"
    assert for_python_markdown(text) == said


def test_the_navigation_is_toml() -> None:
    import tomllib

    found = tomllib.loads(f"nav = {navigation((Section('A', ('a.md', 'b.md')),))}")
    assert found["nav"] == ["index.md", {"A": ["a.md", "b.md"]}]
