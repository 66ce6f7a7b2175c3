"""The API's documentation pages come completely from the controller, and every answer tells a browser what it may do
with it."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx

from tests.unit.controller.listening import JSON, Listen

WANTED = ("x-content-type-options", "referrer-policy", "content-security-policy", "x-frame-options")


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inline = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self.found += [value for name in ("src", "href", "action", "data") if (value := names.get(name))]
        self.inline |= "style" in names or any(name.startswith("on") for name in names)
        self.inline |= tag == "style" or (tag == "script" and "src" not in names)


def guarded(answer: httpx.Response) -> None:
    assert all(answer.headers.get(name) for name in WANTED), answer.url
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "http:" not in policy and "https:" not in policy and "*" not in policy


async def test_no_page_refers_to_anything_foreign(listen: Listen) -> None:
    async with listen(stranger_rate=0) as controller:
        document = (await controller.http.get("/openapi.json")).json()
        seen, left, pages = set[str](), ["/docs", "/healthz", "/metrics", "/readyz", *document["paths"]], 0
        while left:
            path = left.pop().replace("{", "").replace("}", "")
            if path in seen:
                continue
            seen.add(path)
            answer = await controller.http.get(path)
            guarded(answer)
            kind = answer.headers["content-type"].partition(";")[0]
            if kind == "text/html":
                pages += 1
                links = Links(answer.text)
                assert not links.inline
                targets = links.found
            elif kind == "text/css":
                targets = [one for one in re.findall(r"url\(['\"]?([^'\")]+)", answer.text) if one[:5] != "data:"]
                targets += re.findall(r"@import\s+['\"]([^'\"]+)", answer.text)
            else:
                continue
            for target in targets:
                assert urljoin(f"http://controller{path}", target).startswith("http://controller/"), (path, target)
                left.append(target)
        assert pages == 1 and {"/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"} <= seen
        for path in ("/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"):
            assert (await controller.http.get(path)).status_code == 200
        assert (await controller.http.get("/redoc")).status_code == 404
        assert (await controller.http.get("/docs/oauth2-redirect")).status_code == 404
        assert (await controller.http.get("/docs/__init__.py")).status_code == 404


async def test_refusals_are_guarded_too(listen: Listen) -> None:
    async with listen() as controller:
        guarded(await controller.http.post("/api/v1/vcps", content=b"{}", headers=JSON))
        guarded(await controller.http.get("/" + "x" * 9000))
        said = (await controller.raw("THIS IS NOT HTTP\r\n\r\n")).lower()
        assert " 400 " in said.splitlines()[0] and all(name in said for name in WANTED)


async def test_the_description_is_made_once(listen: Listen) -> None:
    async with listen() as controller:
        first = await controller.http.get("/openapi.json")
        assert json.loads(first.content)["openapi"] == "3.1.0"
        again = await controller.http.get("/openapi.json", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
