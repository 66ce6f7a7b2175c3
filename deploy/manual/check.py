"""The check of a built site: every page is there, every link leads somewhere, the search knows every page, and a
browser loads nothing from elsewhere."""

import json
import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from deploy.manual.pages import Sources

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
"""The attributes by which a browser loads something for a page, by element."""

_ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_STYLED_FROM_ELSEWHERE = re.compile(r"(?:url\(|@import\s)\s*[\"']?(?:https?:)?//", re.IGNORECASE)


class _Page(HTMLParser):
    """The parts of a page: the URLs that it loads and links to, its anchors, and scripts and styles within it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads, self.links, self.inline = list[str](), list[str](), list[str]()
        self.anchors = {""}
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if (loaded := given.get(_LOADED.get(tag, ""))) and given.get("rel") not in ("prev", "next", "canonical"):
            self.loads.append(loaded)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "style" or (tag == "script" and "src" not in given and "json" not in given.get("type", "")):
            self.inline.append(f"<{tag}>")
        self.inline += [f'{name}="{value}"' for name, value in given.items() if name == "style" or name[:2] == "on"]


def problems(site: Path, sources: Sources) -> list[str]:
    """Return a sentence on each thing that is wrong with a site."""
    pages = {path.relative_to(site).as_posix(): _Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    wanted = {posixpath.splitext(place)[0] + ".html" for place in sources.pages}
    found = [f"the site has no {place}" for place in sorted(wanted - pages.keys())]
    found += [f"the site has no {place}" for place in sorted(sources.files.keys() - files)]
    found += [f"the search does not know {place}" for place in sorted(wanted - set(_searched(site)))]
    for style in sorted(site.rglob("*.css")):
        if _STYLED_FROM_ELSEWHERE.search(style.read_text()):
            found.append(f"{style.name} loads something from elsewhere")
    for place, page in pages.items():
        found += [f"{place} loads {url} from elsewhere" for url in page.loads if _ELSEWHERE.match(url)]
        found += [f"{place} has {part} within it" for part in page.inline]
        if place != "404.html":
            found += _dead(place, page, pages, files)
    return found


def _searched(site: Path) -> Iterator[str]:
    index = site / "search.json"
    for item in json.loads(index.read_text())["items"] if index.exists() else []:
        yield item["location"].partition("#")[0]


def _dead(place: str, page: _Page, pages: dict[str, _Page], files: set[str]) -> Iterator[str]:
    """Yield the links of a page, and the files it loads, that are not in the site."""
    for url in [*page.loads, *page.links]:
        if _ELSEWHERE.match(url) or url.startswith(("mailto:", "data:", "javascript:")):
            continue
        path, _, anchor = url.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), path)) if path else place
        if target == ".":
            target = "index.html"
        if target not in files:
            yield f"{place} links to {url}, which is not there"
        elif target in pages and anchor not in pages[target].anchors:
            yield f"{place} links to {url}: {target} has no such heading"
