"""A fake NetBox: the reading half of the REST API of NetBox 4 over real HTTP. It filters and pages as the real one
does, checks the token, and refuses choices that it does not have. Tests set its objects and its faults."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tests.unit.netbox.objects import Json, Objects
from tests.unit.threaded import served

TOKEN = "nbt_4f5a6b7c8d9e.an-invented-secret-for-tests"


class FakeNetBox:
    """A NetBox. `pages` is its MAX_PAGE_SIZE. `refused` are lists that the token's user may not view, `queries` the
    requests so far. `failing` answers are given before others; `elsewhere` replaces NetBox's address in links."""

    def __init__(self, objects: Objects) -> None:
        self.objects, self.url, self.release, self.pages = objects, "", "4.6", 1000
        self.refused: set[str] = set()
        self.queries: list[tuple[str, dict[str, list[str]]]] = []
        self.failing: list[Response] = []
        self.elsewhere = ""
        self.roles = {"weft-pe", "cash"}
        self.app = Starlette(routes=[Route("/api/", self._root), Route("/api/{app}/{kind}/", self._list)])

    async def _root(self, request: Request) -> Response:
        return self._answer(self._unknown(request) or JSONResponse({"dcim": f"{self.url}/api/dcim/"}))

    async def _list(self, request: Request) -> Response:
        path = f"{request.path_params['app']}/{request.path_params['kind']}"
        query = {key: request.query_params.getlist(key) for key in request.query_params}
        self.queries.append((path, query))
        if self.failing:
            return self.failing.pop(0)
        if unknown := self._unknown(request):
            return self._answer(unknown)
        if path in self.refused:
            return self._answer(_detail(403, "You do not have permission to perform this action."))
        if bad := self._bad(path, query):
            return self._answer(JSONResponse(bad, 400))
        return self._answer(
            self._page(path, query, [one for one in self.objects.get(path, []) if _selects(one, query)])
        )

    def _unknown(self, request: Request) -> Response | None:
        """Return the refusal of a request without the token, as NetBox words it since 4.5."""
        match request.headers.get("authorization", "").split(" "):
            case ["Bearer", given] if given == TOKEN:
                return None
            case ["Token", _]:
                return _detail(403, "Invalid v1 token")
            case ["Bearer", _]:
                return _detail(403, "Invalid v2 token")
        return _detail(403, "Authentication credentials were not provided.")

    def _bad(self, path: str, query: dict[str, list[str]]) -> Json:
        tags = {tag["slug"] for some in self.objects.values() for one in some for tag in one["tags"]}
        states = {"active", "planned", "staged", "offline", "reserved", "dhcp"}
        found = {}
        for key, known in (("tag", tags), ("role", self.roles), ("status", states)):
            if wrong := [value for value in query.get(key, []) if value not in known]:
                found[key] = [f"Select a valid choice. {wrong[0]} is not one of the available choices."]
        return found

    def _page(self, path: str, query: dict[str, list[str]], found: list[Json]) -> Response:
        limit = int(query.get("limit", ["50"])[-1])
        limit = min(limit or self.pages, self.pages)
        first = int(query.get("offset", ["0"])[-1])
        rest = [(key, value) for key, values in query.items() for value in values if key not in ("limit", "offset")]
        link = "&".join(f"{key}={value}" for key, value in [*rest, ("limit", limit), ("offset", first + limit)])
        more = f"{self.elsewhere or self.url}/api/{path}/?{link}" if first + limit < len(found) else None
        body = {"count": len(found), "next": more, "previous": None, "results": found[first : first + limit]}
        return JSONResponse(body)

    def _answer(self, response: Response) -> Response:
        if self.release:
            response.headers["API-Version"] = self.release
        return response


def _detail(status: int, text: str) -> Response:
    return JSONResponse({"detail": text}, status)


def _selects(one: Json, query: dict[str, list[str]]) -> bool:
    """Return whether a query selects an object: each tag has to be there, of other values one."""
    tags = {tag["slug"] for tag in one["tags"]}
    values: dict[str, Any] = {"id": one["id"], "status": (one.get("status") or {}).get("value")}
    values["role"] = (one.get("role") or {}).get("slug")
    for key in ("device", "virtual_machine"):
        values[f"{key}_id"] = (one.get(key) or {}).get("id")
    others = (str(values[key]) in wanted for key, wanted in query.items() if key in values)
    return set(query.get("tag", [])) <= tags and all(others)


def busy(status: int = 503) -> Response:
    """Return the answer of a NetBox that is too busy."""
    return PlainTextResponse("busy", status, headers={"Retry-After": "1"})


@contextmanager
def running(netbox: FakeNetBox, **options: Any) -> Iterator[FakeNetBox]:
    """Serve a fake NetBox. `options` are uvicorn's, such as those for TLS."""
    with served(netbox.app, **options) as netbox.url:
        yield netbox
