"""The UI's first view needs few bytes, and heavy pages come when they are wanted. The files are those of `make ui`."""

import gzip
import json
import re
from typing import Any

import pytest

from controller.server.pages import BUILT, INDEX, Pages
from tests.house.imports import ROOT

BUDGET = 300_000
"""Bytes of JavaScript and CSS, compressed, that the first view may need."""

FIRST = ("index.html", "src/pages/overview/Overview.svelte")
"""The chunks of the first view: the entry, and the page that most users see first."""


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BUILT / ".vite/manifest.json").read_text())
    return found


def needed(manifest: dict[str, Any], *names: str) -> set[str]:
    """Return the files that these chunks load at once: their static imports, theirs in turn, and the styles of all."""
    files, left, seen = set[str](), list(names), set[str]()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        chunk = manifest[name]
        files |= {chunk["file"], *chunk.get("css", [])}
        left += chunk.get("imports", [])
    return files


def test_the_first_view_is_within_the_budget(manifest: dict[str, Any]) -> None:
    sizes = {name: len(gzip.compress((BUILT / name).read_bytes(), 9)) for name in needed(manifest, *FIRST)}
    assert 20_000 < sum(sizes.values()) <= BUDGET, sizes


def test_pages_come_when_they_are_wanted(manifest: dict[str, Any]) -> None:
    first = needed(manifest, "index.html")
    lazy = [name for name, chunk in manifest.items() if chunk.get("isDynamicEntry") and "/pages/" in name]
    assert len(lazy) >= 8
    assert not {manifest[name]["file"] for name in lazy} & first


def test_nothing_comes_from_elsewhere() -> None:
    """No file names another host, but for names of XML's and of messages."""
    known = {"www.w3.org", "svelte.dev"}
    for path in BUILT.rglob("*.*"):
        if path.suffix in (".js", ".css", ".html", ".svg"):
            hosts = set(re.findall(r"https?://([\w.-]+)", path.read_text()))
            assert hosts <= known, f"{path.name} names {hosts - known}"
    index = (BUILT / INDEX).read_text()
    assert "<style" not in index and not re.search(r"<script(?![^>]*\bsrc=)", index) and " style=" not in index
    assert not re.search(r"\son\w+=", index)


def test_all_files_are_served() -> None:
    pages = Pages.built()
    files = {f"/{path.relative_to(BUILT).as_posix()}" for path in BUILT.rglob("*.*") if ".vite" not in path.parts}
    assert files <= set(pages._files)


def test_texts_of_both_languages_have_the_same_keys() -> None:
    """The type check proves it, if each folder's German texts have the English ones' type."""
    for english in (ROOT / "controller/ui/src").rglob("en.ts"):
        german = english.with_name("de.ts").read_text()
        assert "export const de: Texts = {" in german, english.parent
