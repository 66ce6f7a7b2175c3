"""`weft` follows every list of the API to its end."""

import io
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.unit.cli.commands import EXAMPLES
from tests.unit.cli.conftest import Controller, Weft
from tests.unit.openapi.test_pages import UNPAGED, answers

PAGED = {
    re.compile(re.sub(r"\{\w+\}", "[^/]+", name.removeprefix("GET ")))
    for name, (_, query) in answers().items()
    if {"limit", "cursor"} <= query and name not in UNPAGED
}
BOUNDED = ("--limit", "change confirm", "change rollback", "route diff --last")
"""Parts of commands that ask for the first items of a list alone."""
ENDLESS = ("login", "logout", "follow", "route watch", "image push")
"""Parts of commands that send no request, or follow a stream."""


class Pages:
    """Answers each list with two pages, the first of them empty, and each other request with an empty object."""

    def __init__(self) -> None:
        self.first: set[str] = set()
        self.second: set[str] = set()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method != "GET" or not any(one.fullmatch(path) for one in PAGED):
            return httpx.Response(200, json={})
        first = "cursor" not in request.url.params
        (self.first if first else self.second).add(path)
        page: dict[str, Any] = {"items": [], "route_servers": [], "unreachable": [], "cloudlets": [], "median_ms": {}}
        return httpx.Response(200, json=page | {"truncated": first, "next": "2" if first else None})


def test_every_command_reads_all_pages(
    controller: Controller, weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pages = Pages()
    monkeypatch.setattr(Controller, "__call__", lambda _, request: pages(request))
    asked = set()
    for words in EXAMPLES:
        line = " ".join(words)
        if any(part in line for part in ENDLESS):
            continue
        pages.first, pages.second = set(), set()
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        weft(*words)
        if not any(part in line for part in BOUNDED):
            assert pages.first == pages.second, f"weft {line}"
        asked |= pages.first
    unasked = {one.pattern for one in PAGED if not any(one.fullmatch(path) for path in asked)}
    assert unasked == set(), "no example of a command asks for these lists"
