"""The controller serves the built manual: all of its files, nothing beside them, under a strict policy."""

from pathlib import Path

import httpx
import pytest

from tests.unit.controller.conftest import problem
from tests.unit.controller.listening import Listen
from tests.unit.controller.test_documentation import WANTED, guarded

FILES = {
    "index.html": "<h1>Weft</h1>",
    "operate/ports.html": "<h1>Ports</h1>",
    "assets/javascripts/page.js": "go()",
    "manual.css": "h1 { color: red; }",
    "search.json": "{}",
    "reports/soak.svg": '<svg style="fill: red"/>',
}


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    folder = tmp_path / "manual"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "secret").write_text("secret")
    (folder / "escape").symlink_to(tmp_path / "secret")
    return folder


async def test_every_file_is_served_without_a_token(listen: Listen, manual: Path) -> None:
    async with listen(manual=manual) as controller:
        for name, text in FILES.items():
            answer = await controller.http.get(f"/manual/{name}")
            assert (answer.status_code, answer.text) == (200, text)
            if name.endswith(".svg"):
                assert all(answer.headers.get(header) for header in WANTED)
                assert "script-src" not in answer.headers["content-security-policy"]
            else:
                guarded(answer)
        first = await controller.http.get("/manual/")
        assert first.text == FILES["index.html"] and first.headers["content-type"].startswith("text/html")
        again = await controller.http.get("/manual/", headers={"If-None-Match": first.headers["etag"]})
        assert again.status_code == 304
        moved = await controller.http.get("/manual", follow_redirects=False)
        assert moved.status_code == 307 and httpx.URL(moved.headers["location"]).path == "/manual/"


async def test_nothing_else_is(listen: Listen, manual: Path) -> None:
    async with listen(manual=manual) as controller:
        for path in ("nothing.html", "operate/nothing.html", "escape", "nothing/index.html"):
            problem(await controller.http.get(f"/manual/{path}"), 404, reason="The manual has no page")
        said = await controller.raw("GET /manual/../secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert " 400 " in said.splitlines()[0] and "secret" not in said.partition("\r\n\r\n")[2].replace("/secret", "")
        assert (await controller.http.post("/manual/index.html")).status_code in (401, 405)


async def test_without_a_manual_a_controller_says_what_it_lacks(listen: Listen, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/secret").write_text("secret")
    for directory in (tmp_path / "none", tmp_path / "other", ""):
        async with listen(manual=directory) as controller:
            problem(await controller.http.get("/manual/"), 404, reason="This controller has no manual")
            problem(await controller.http.get("/manual/secret"), 404, reason="This controller has no manual")
