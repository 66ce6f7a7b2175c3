"""The pages of the site, prepared from the repository's Markdown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.manual.index import Section, sections, titled
from deploy.manual.links import rewritten, targets

DOCS = "docs"
INDEX = f"{DOCS}/README.md"
ELSEWHERE = "repository"
"""The folder of the site with copies of pages that are not below docs."""


class NotMade(Exception):  # noqa: N818 - it says what is
    """The manual cannot be built; the message is one sentence."""


@dataclass(frozen=True)
class Sources:
    """The sources of the site: the text of each page and the bytes of each other file by its place in the site, and the
    navigation, as places."""

    pages: Mapping[str, str]
    files: Mapping[str, bytes]
    navigation: tuple[Section, ...]


def prepared(root: Path) -> Sources:
    """Return the sources of the site. Raises NotMade for a link that leads nowhere."""
    readme = (root / INDEX).read_text()
    navigation = sections(readme)
    listed = [f"{DOCS}/{page}" for section in navigation for page in section.pages]
    found = _reached(root, [INDEX, *listed])

    def place(path: str) -> str | None:
        return _place(path) if path in found else None

    titles = {path.removeprefix(f"{DOCS}/"): title(text) for path, text in found.items() if isinstance(text, str)}
    pages = {}
    for path, text in found.items():
        if isinstance(text, str):
            said = titled(text, titles) if path == INDEX else text
            pages[_place(path)] = for_python_markdown(rewritten(path, said, place))
    others = tuple(place for place in pages if place.startswith(f"{ELSEWHERE}/"))
    files = {_place(path): text for path, text in found.items() if isinstance(text, bytes)}
    return Sources(pages, files, (*navigation, Section("Repository", others)))


def _reached(root: Path, first: list[str]) -> dict[str, str | bytes]:
    """Return the pages that can be reached by links, and the files that pages of docs show or link to. Raises
    NotMade."""
    found: dict[str, str | bytes] = {}
    waiting = list(first)
    while waiting:
        path = waiting.pop(0)
        if path in found:
            continue
        found[path] = text = (root / path).read_text()
        for target in targets(path, text):
            if not (root / target).exists():
                raise NotMade(f"{path} links to {target}, which is not there")
            if target.endswith(".md"):
                waiting.append(target)
            elif path.startswith(f"{DOCS}/") and target.startswith(f"{DOCS}/"):
                found[target] = (root / target).read_bytes()
    return found


def _place(path: str) -> str:
    if path == INDEX:
        return "index.md"
    if path.startswith(f"{DOCS}/"):
        return path.removeprefix(f"{DOCS}/")
    return f"{ELSEWHERE}/{re.sub(r'README.md$', 'index.md', path)}"


def title(text: str) -> str:
    """Return the title of a page: its first heading."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def for_python_markdown(text: str) -> str:
    """Return a page in the dialect of Python-Markdown, which wants more than GitHub's: an empty line before a table,
    four columns for each level of a list, and nothing behind the language of a block of code."""
    lines = list[str]()
    for line, fenced in _fenced(text):
        if not fenced and line.startswith("|") and lines and lines[-1].strip() and not lines[-1].startswith("|"):
            lines.append("")
        nested = not fenced and re.match(r" {2,3}(- |\d+\. )", line)
        lines.append(f"    {line.lstrip()}" if nested else re.sub(r"^(```\w+) .*", r"\1", line))
    return "\n".join(lines) + "\n"


def _fenced(text: str) -> list[tuple[str, bool]]:
    """Return the lines of a page, and whether each is in a fenced block."""
    found, inside = list[tuple[str, bool]](), False
    for line in text.splitlines():
        fence = line.startswith("```")
        found.append((line, inside or fence))
        inside ^= fence
    return found
