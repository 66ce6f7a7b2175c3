"""The navigation of the manual: docs/README.md, which lists every page by reader."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SECTION = re.compile(r"^## (.+)$")
_ENTRY = re.compile(r"^- \[`[^`]+`\]\(([^)]+)\)")


@dataclass(frozen=True)
class Section:
    """The pages for one kind of reader, as paths below docs."""

    title: str
    pages: tuple[str, ...]


def sections(readme: str) -> tuple[Section, ...]:
    """Return the sections of the index in order; files that are not Markdown are left out."""
    return tuple(Section(title, tuple(pages)) for title, pages in _sections(readme))


def _sections(readme: str) -> Iterator[tuple[str, list[str]]]:
    title, pages = "", list[str]()
    for line in [*readme.splitlines(), "## "]:
        if (found := _ENTRY.match(line)) and found[1].endswith(".md"):
            pages.append(found[1])
        elif line == "## " or _SECTION.match(line):
            if pages:
                yield title, pages
            title, pages = line.removeprefix("## "), []


def titled(readme: str, titles: dict[str, str]) -> str:
    """Return the index as the site's first page, on which links are the pages' titles."""
    text = re.sub(r"^# .*$", "# Weft", readme, count=1, flags=re.MULTILINE)
    return re.sub(
        r"\[`[^`]+`\]\(([^)]+)\)",
        lambda found: f"[{titles[found[1]]}]({found[1]})" if found[1] in titles else found[0],
        text,
    )
