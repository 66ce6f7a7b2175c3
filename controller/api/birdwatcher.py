"""The tables of a route server as birdwatcher gives those of BIRD, so that looking glasses that read birdwatcher show
them (docs/operate/alice-lg.md). It only reads, and writes long lists as it reads them, a page at a time."""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse, Response, StreamingResponse

from controller.api.access import BIRDWATCHER, Reader, Running
from controller.api.verbatim import Json
from controller.core import birdwatcher
from controller.core.clock import now
from controller.region import Region
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, Unreachable
from controller.routeservers.sync import RouteServerSync
from controller.runtime.problems import Problem
from controller.wire.release import release

PAGE = 1000
"""Routes that are read from a route server at once."""

MOST = 200_000
"""Maximum routes in an answer."""

Lines = AsyncGenerator[Json, None]


class Failed(Exception):  # noqa: N818 - an answer
    """A question that cannot be answered. Its text is for the field `error`, which clients show."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class GlassRoute(APIRoute):
    """Answers errors in the form that clients of birdwatcher show."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the route's handler, with its errors as answers."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await handle(request)
            except Failed as failed:
                return JSONResponse({"error": str(failed)}, failed.status)
            except Problem as problem:
                return JSONResponse({"error": problem.detail}, problem.status, problem.headers)

        return handler


router = APIRouter(
    prefix=f"{BIRDWATCHER}{{route_server}}",
    tags=["routes"],
    dependencies=[Reader],
    include_in_schema=False,
    route_class=GlassRoute,
)


class Glass:
    """One route server, seen through birdwatcher."""

    def __init__(self, region: Region, server: RouteServerSync) -> None:
        self._region, self._server = region, server
        self.asn = region.fabric.asn

    async def sessions(self) -> dict[str, Json]:
        """Return the sessions by PE. Raises Failed."""
        return {one["peer"]: one for one in (await self.status()).get("sessions") or []}

    async def session(self, name: str) -> Json:
        """Return the session with a PE. Raises Failed if the route server knows no such PE."""
        found = (await self.sessions()).get(name)
        if found is None:
            raise Failed(404, f"{self._server.name} has no session {name!r}")
        return found

    async def status(self) -> Json:
        """Return the state of the route server. Raises Failed."""
        return await self._asked(self._server.client.status())

    async def lookup(self, query: dict[str, str]) -> list[Json]:
        """Return the routes to an address or a prefix. Raises Failed."""
        found = await self._asked(self._server.client.lookup(query))
        addresses = {name: one.get("address") or "" for name, one in (await self.sessions()).items()}
        return [birdwatcher.route(one, self.asn, addresses.get(one["peer"], "")) for one in found.get("routes") or []]

    async def lines(self, table: str, session: Json, wanted: Callable[[Json], bool]) -> Lines:
        """Yield the routes of a PE in one of the tables. Raises Failed."""
        query = {"table": table, "peer": session["peer"], "limit": str(PAGE)}
        while True:
            page = await self._asked(self._server.client.routes(query))
            for line in page.get("routes") or []:
                if wanted(line):
                    yield birdwatcher.route(line, self.asn, session.get("address") or "")
            if not page.get("next"):
                return
            query["cursor"] = str(page["next"])

    async def all_lines(self, table: str, wanted: Callable[[Json], bool]) -> Lines:
        """Yield the routes of all PEs in one of the tables, PE by PE. Raises Failed."""
        for session in (await self.sessions()).values():
            if session.get("prefixes_in"):
                async with aclosing(self.lines(table, session, wanted)) as lines:
                    async for line in lines:
                        yield line

    def protocol(self, session: Json) -> Json:
        """Return a session with the PE's AS number and endpoints."""
        cloudlet = self._region.intent.cloudlets.get(session["peer"])
        asn = cloudlet.asn if cloudlet is not None and cloudlet.asn else self.asn
        names = ", ".join(sorted(one.name for one in self._region.intent.endpoints_of.get(session["peer"], ())))
        return birdwatcher.protocol(session, asn, f"{session['peer']}: {names}" if names else session["peer"])

    async def _asked(self, question: Awaitable[Json]) -> Json:
        try:
            return await question
        except RefusedByRouteServer as refused:
            raise Failed(404, str(refused)) from refused
        except (Unreachable, OtherGeneration) as away:
            raise Failed(502, f"{self._server.name} does not answer: {away}") from away


async def _glass(region: Running, route_server: str) -> Glass:
    for server in region.route_servers.syncs:
        if server.name == route_server:
            return Glass(region, server)
    known = ", ".join(server.name for server in region.route_servers.syncs)
    raise Failed(404, f"there is no route server {route_server[:63]!r}; there is {known}")


Seen = Annotated[Glass, Depends(_glass)]


@router.get("/version")
async def version() -> Response:
    """Return the release."""
    return Response(release(), media_type="text/plain")


@router.get("/status")
async def status(glass: Seen) -> Response:
    """Return the state of the route server."""
    return _whole({"status": birdwatcher.status(await glass.status(), now())})


@router.get("/protocols")
@router.get("/protocols/bgp")
async def protocols(glass: Seen) -> Response:
    """Return all sessions."""
    return _whole({"protocols": {name: glass.protocol(one) for name, one in (await glass.sessions()).items()}})


@router.get("/protocols/short")
async def short(glass: Seen) -> Response:
    """Return the states of all sessions."""
    return _whole({"protocols": {name: birdwatcher.short(one) for name, one in (await glass.sessions()).items()}})


@router.get("/symbols")
async def symbols(glass: Seen) -> Response:
    """Return the names of tables and sessions."""
    return _whole({"symbols": {"routing table": [birdwatcher.TABLE], "protocol": sorted(await glass.sessions())}})


@router.get("/symbols/tables")
async def tables() -> Response:
    """Return the names of tables."""
    return _whole({"symbols": [birdwatcher.TABLE]})


@router.get("/symbols/protocols")
async def names(glass: Seen) -> Response:
    """Return the names of sessions."""
    return _whole({"symbols": sorted(await glass.sessions())})


@router.get("/routes/protocol/{name}")
@router.get("/routes/peer/{name}")
@router.get("/routes/table/{table}/peer/{name}")
async def received(glass: Seen, name: str) -> Response:
    """Return the accepted routes of a PE."""
    return await _streamed({"routes": glass.lines("adj-in", await glass.session(name), _accepted)})


@router.get("/routes/filtered/{name}")
async def filtered(glass: Seen, name: str) -> Response:
    """Return the routes of a PE that are in quarantine; a large community says why."""
    return await _streamed({"routes": glass.lines("quarantine", await glass.session(name), _any)})


@router.get("/routes/export/{name}")
async def exported(glass: Seen, name: str) -> Response:
    """Return the routes that a PE is sent."""
    return await _streamed({"routes": glass.lines("adj-out", await glass.session(name), lambda r: not _kept(r))})


@router.get("/routes/noexport/{name}")
async def not_exported(glass: Seen, name: str) -> Response:
    """Return the routes that a PE should have and is not sent; a large community says why. Routes of other pools are no
    business of the PE, so they are not among these."""
    return await _streamed({"routes": glass.lines("adj-out", await glass.session(name), _kept)})


@router.get("/routes/table/{table}")
async def table(glass: Seen) -> Response:
    """Return all accepted routes."""
    return await _streamed({"routes": glass.all_lines("adj-in", _accepted)})


@router.get("/routes/table/{table}/filtered")
async def table_filtered(glass: Seen) -> Response:
    """Return all routes in quarantine."""
    return await _streamed({"routes": glass.all_lines("quarantine", _any)})


@router.get("/routes/dump")
async def dump(glass: Seen) -> Response:
    """Return all routes."""
    lists = {"imported": glass.all_lines("adj-in", _accepted), "filtered": glass.all_lines("quarantine", _any)}
    return await _streamed(lists)


@router.get("/routes/count/protocol/{name}")
@router.get("/routes/count/primary/{name}")
async def count(glass: Seen, name: str) -> Response:
    """Return the number of accepted routes of a PE."""
    session = await glass.session(name)
    return _whole({"routes": glass.protocol(session)["routes"]["imported"]})


@router.get("/routes/count/table/{table}")
async def table_count(glass: Seen) -> Response:
    """Return the number of all accepted routes."""
    sessions = (await glass.sessions()).values()
    return _whole({"routes": sum(glass.protocol(one)["routes"]["imported"] for one in sessions)})


@router.get("/routes/prefix")
async def prefixed(glass: Seen, prefix: str) -> Response:
    """Return the longest matches for an address or a prefix."""
    return _whole({"routes": await glass.lookup(_destination(prefix))})


@router.get("/route/net/{net}")
@router.get("/route/net/{net}/table/{table}")
async def net(glass: Seen, net: str) -> Response:
    """Return the longest matches for an address."""
    return _whole({"routes": await glass.lookup(_destination(net))})


@router.get("/route/net/{net}/{mask}")
@router.get("/route/net/{net}/{mask}/table/{table}")
async def net_mask(glass: Seen, net: str, mask: str) -> Response:
    """Return the longest matches for a prefix."""
    return _whole({"routes": await glass.lookup(_destination(f"{net}/{mask}"))})


def _accepted(line: Json) -> bool:
    return not line.get("reason")


def _kept(line: Json) -> bool:
    return bool(line.get("withheld") or line.get("held"))


def _any(_line: Json) -> bool:
    return True


def _destination(text: str) -> dict[str, str]:
    """Return the query for an address or a prefix. Raises Failed."""
    if not re.fullmatch(r"[0-9a-fA-F.:]{2,45}(/[0-9]{1,3})?", text):
        raise Failed(400, "this is neither an address nor a prefix")
    return {"prefix" if "/" in text else "address": text}


def _whole(parts: Json) -> Response:
    return JSONResponse(birdwatcher.envelope(release(), now()) | parts)


async def _streamed(lists: dict[str, Lines]) -> Response:
    """Return an answer with these lists, which are written as they are read. A fault of the first item is answered
    as an error; a later one ends the connection, so that no client takes a part for the whole."""
    begun = [(name, lines, await anext(lines, None)) for name, lines in lists.items()]
    return StreamingResponse(_written(begun), media_type="application/json")


async def _written(lists: list[tuple[str, Lines, Json | None]]) -> AsyncIterator[bytes]:
    yield json.dumps(birdwatcher.envelope(release(), now())).removesuffix("}").encode()
    written = 0
    for name, lines, line in lists:
        yield f', "{name}": ['.encode()
        comma = b""
        while line is not None and written < MOST:
            yield comma + json.dumps(line).encode()
            comma, written, line = b",\n", written + 1, await anext(lines, None)
        yield b"]"
        await lines.aclose()
    yield f', "truncated": {str(written >= MOST).lower()}}}'.encode()
