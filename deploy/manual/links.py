"""Links of the pages: those that leave docs lead to a copy in the site, or become the path in the repository."""

import posixpath
import re
from collections.abc import Callable, Iterator

_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"(!?)\[((?:[^\[\]`]|`[^`\n]*`)*)\]\(([^()\s]+)\)")


def targets(page: str, text: str) -> Iterator[str]:
    """Yield the files that a page links to, as paths in the repository; `page` is the path of the page."""
    for found in _LINK.finditer(_without_code(text)):
        if (path := _path(page, found[3])) is not None:
            yield path


def rewritten(page: str, text: str, place: Callable[[str], str | None]) -> str:
    """Return the text of a page with links for the site. `place` gives the place of a file of the repository in the
    site; a link to a file without one becomes its words and its path."""
    here = posixpath.dirname(place(page) or "")

    def link(found: re.Match[str]) -> str:
        image, words, target = found.groups()
        path = _path(page, target)
        if path is None:
            return found[0]
        if (to := place(path)) is None:
            return f"{words} (`{path}`)" if words.strip("`") != path else f"`{path}`"
        _, hash_, anchor = target.partition("#")
        return f"{image}[{words}]({posixpath.relpath(to, here or '.')}{hash_}{anchor})"

    return _outside_code(text, lambda part: _LINK.sub(link, part))


def _path(page: str, target: str) -> str | None:
    """Return the path of a link's target; None for a place on the same page, or elsewhere."""
    file = target.partition("#")[0]
    if not file or re.match(r"[a-z]+:", file):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), file))


def _without_code(text: str) -> str:
    return _FENCE.sub("", text)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return the text with what is outside of fenced blocks changed."""
    parts, at = list[str](), 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, change(text[at:])])
