"""A fake route server: the rule-set half of the control API over real HTTP, without BGP. It keeps the rules it
receives; the test sets its answers about routes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from controller.core.rulesets import apply
from controller.wire.rulesets import Change, PeerReceipt, Receipt, RuleSet, SetEndpoint
from tests.unit.controller.prompt_server import PromptServer

TOKEN = "a-token-for-tests"
S = TypeVar("S", bound="FakeRouteServer")


class FakeRouteServer:
    """A route server. Tests may read `rules`, `log` and the `traces` that changes were of; `down` makes every call
    fail, `delay` makes changes slow (s), `trial` is shown in the status, and PEs in `behind` never receive their
    routes. Without `permits` it is an older release that does not know permits, and refuses them. `refusal` is the
    status, code and message with which it refuses to reset or refresh a session; `answers` are those about routes, by
    the end of their path."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rules = RuleSet(generation=0, peers=[], endpoints=[], vcps=[])
        self.confirmed = False
        self.permits = True
        self.version = ""
        self.started_at = "2026-01-01T00:00:00Z"
        self.log: list[str] = []
        self.traces: list[str] = []
        self.beats = 0
        self.asked: dict[str, str] = {}
        self.routes: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.more = asyncio.Event()
        self.trial: dict[str, Any] = {}
        self.behind: list[str] = []
        self.held: dict[str, list[dict[str, Any]]] = {"routes": [], "sources": [], "apart": []}
        self.answers: dict[str, dict[str, Any]] = {
            "lookup": {"routes": [], "truncated": False, "vpls_routes": 0},
            "paths": {"paths": [], "withdrawn": [], "truncated": False},
        }
        self.counts: list[dict[str, Any]] = []
        self.refusal: tuple[int, str, str] | None = None
        self.fallback: RuleSet | None = None
        self.down = False
        self.delay = 0.0
        self.url = ""
        routes = [
            Route("/v1/status", self._status),
            Route("/v1/ruleset", self._get),
            Route("/v1/ruleset", self._put, methods=["PUT"]),
            Route("/v1/changes", self._change, methods=["POST"]),
            Route("/v1/confirm", self._confirm, methods=["POST"]),
            Route("/v1/heartbeat", self._heartbeat, methods=["POST"]),
            Route("/v1/routes", self._routes),
            Route("/v1/explain", self._explain),
            Route("/v1/diff", self._diff),
            Route("/v1/held", self._held),
            Route("/v1/peers/{peer}/release", self._release, methods=["POST"]),
            Route("/v1/peers/{peer}/reset", self._reset, methods=["POST"]),
            Route("/v1/peers/{peer}/refresh", self._refresh, methods=["POST"]),
            Route("/v1/lookup", self._answer),
            Route("/v1/paths", self._answer),
            Route("/v1/counts", self._counts),
            Route("/v1/events", self._events),
        ]
        self.app = Starlette(routes=routes)
        self.app.add_middleware(_Guard, server=self)

    def happen(self, kind: str, **data: Any) -> None:
        """Add an event to the stream."""
        self.events.append({"seq": len(self.events) + 1, "kind": kind, **data})
        self.more.set()
        self.more = asyncio.Event()

    def expire(self) -> None:
        """Let a trial expire: like the real one, return to the earlier rule set and generation."""
        if self.fallback is not None:
            self.rules, self.fallback = self.fallback, None
            self.happen("rollback", text="it was not confirmed in time")

    def restart(self) -> None:
        """Restart without the data that is not on the disk: the confirmation, and the events."""
        self.started_at += "'"
        self.confirmed = False
        self.events.clear()

    async def _status(self, _: Request) -> Response:
        sessions = [
            {"peer": p.name, "address": p.address, "state": "established", "prefixes_in": 1} for p in self.rules.peers
        ]
        generation = self.rules.generation
        body = {"name": self.name, "generation": generation, "confirmed": self.confirmed, "serving": True}
        body |= {"permits": self.permits, "version": self.version, "router_id": "192.0.2.250"}
        return JSONResponse(body | self.trial | {"started_at": self.started_at, "sessions": sessions, "counters": {}})

    async def _get(self, _: Request) -> Response:
        return Response(self.rules.model_dump_json(), media_type="application/json")

    async def _put(self, request: Request) -> Response:
        rules = RuleSet.model_validate_json(await request.body())
        if not self.permits and any(e.permits for e in rules.endpoints):
            return _unknown()
        if rules.generation < self.rules.generation or (
            rules.generation == self.rules.generation and rules != self.rules
        ):
            return self._conflict()
        self.log.append(f"put {rules.generation}")
        return self._take(rules, request)

    async def _change(self, request: Request) -> Response:
        change = Change.model_validate_json(await request.body())
        if not self.permits and any(isinstance(op, SetEndpoint) and op.endpoint.permits for op in change.ops):
            return _unknown()
        if change.base != self.rules.generation or (self.fallback is not None and not change.dry_run):
            return self._conflict()
        await asyncio.sleep(self.delay)
        self.log.append(f"{'rehearse' if change.dry_run else 'change'} {change.generation}")
        self.traces.append(request.headers.get("traceparent", ""))
        rules = apply(self.rules, change.ops, change.generation)
        return self._receipt(rules, dry_run=True) if change.dry_run else self._take(rules, request)

    async def _confirm(self, request: Request) -> Response:
        if json.loads(await request.body())["generation"] != self.rules.generation:
            return self._conflict()
        self.confirmed, self.fallback = True, None
        self.log.append(f"confirm {self.rules.generation}")
        return Response(status_code=204)

    async def _heartbeat(self, request: Request) -> Response:
        if json.loads(await request.body())["generation"] != self.rules.generation:
            return self._conflict()
        self.beats += 1
        return Response(status_code=204)

    async def _diff(self, request: Request) -> Response:
        peer = request.query_params["peer"]
        if peer not in {p.name for p in self.rules.peers}:
            return JSONResponse({"error": {"code": "not-found", "message": f'there is no peer "{peer}"'}}, 404)
        body = {"peer": peer, "generation": self.rules.generation, "session": True}
        return JSONResponse(body | {"compared": 1, "differences": []})

    async def _held(self, request: Request) -> Response:
        first, limit = int(request.query_params.get("cursor", "0")), int(request.query_params.get("limit", "1000"))
        routes, end = self.held["routes"], first + limit
        lists = self.held if first == 0 else {"sources": [], "apart": []}
        return JSONResponse({**lists, "routes": routes[first:end], "next": str(end) if len(routes) > end else None})

    async def _release(self, request: Request) -> Response:
        peer = request.path_params["peer"]
        lifted = [route for route in self.held["routes"] if route["peer"] == peer]
        if not lifted:
            return JSONResponse({"error": {"code": "not-held", "message": f'nothing is held back from "{peer}"'}}, 404)
        self.log.append(f"release {(await request.body()).decode()}")
        return JSONResponse({"peer": peer, "routes": len(lifted), "sources": 0})

    async def _reset(self, request: Request) -> Response:
        peer = request.path_params["peer"]
        self.log.append(f"reset {peer} {(await request.body()).decode()}")
        done = {"peer": peer, "was": "established", "graceful": False, "prefixes_in": 3, "prefixes_out": 5}
        return self._refused() or JSONResponse(done)

    async def _refresh(self, request: Request) -> Response:
        peer, body = request.path_params["peer"], json.loads(await request.body())
        self.log.append(f"refresh {peer} {json.dumps(body)}")
        families = [body.get("family", "l2vpn-vpls")]
        asked, resent = body["direction"] != "out", body["direction"] != "in"
        done = {"peer": peer, "asked": families if asked else [], "resent": families if resent else []}
        return self._refused() or JSONResponse(done | {"enhanced": True})

    def _refused(self) -> Response | None:
        if self.refusal is None:
            return None
        status, code, message = self.refusal
        headers = {"Retry-After": "7"} if status == 429 else {}
        return JSONResponse({"error": {"code": code, "message": message}}, status, headers)

    async def _answer(self, request: Request) -> Response:
        self.asked = dict(request.query_params)
        return JSONResponse(self.answers[request.url.path.rpartition("/")[2]])

    async def _counts(self, request: Request) -> Response:
        self.asked = dict(request.query_params)
        first, limit = int(self.asked.get("cursor", "0")), int(self.asked["limit"])
        end = first + limit
        return JSONResponse({"peers": self.counts[first:end], "next": str(end) if len(self.counts) > end else None})

    async def _routes(self, request: Request) -> Response:
        self.asked = dict(request.query_params)
        first, limit = int(self.asked.get("cursor", "0")), int(self.asked["limit"])
        rest = self.routes[first + limit :]
        shown = self.routes[first : first + limit]
        return JSONResponse({"routes": shown, "truncated": bool(rest), "next": str(first + limit) if rest else None})

    async def _explain(self, _: Request) -> Response:
        return JSONResponse({"routes": [], "verdict": "not-sent", "text": "Nothing was announced."})

    async def _events(self, request: Request) -> Response:
        return StreamingResponse(self._follow(int(request.query_params["after"])), media_type="text/event-stream")

    async def _follow(self, seen: int) -> AsyncIterator[str]:
        yield ": open\n\n"
        while not self.down:
            more = self.more
            for event in self.events[seen:]:
                yield f"id: {event['seq']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n"
            seen = len(self.events)
            await more.wait()

    def _take(self, rules: RuleSet, request: Request) -> Response:
        answer = self._receipt(rules)
        if "confirm_within" not in request.query_params:
            self.fallback = None
        elif rules != self.rules:
            self.fallback = self.rules
        self.rules, self.confirmed = rules, True
        return answer

    def _receipt(self, rules: RuleSet, *, dry_run: bool = False) -> Response:
        receipt = Receipt(
            route_server=self.name,
            generation=rules.generation,
            previous=self.rules.generation,
            announced=0,
            withdrawn=0,
            peers=[PeerReceipt(peer=name, announced=0, withdrawn=1, written_us=None) for name in self.behind],
            duration_us=1,
            dry_run=dry_run,
        )
        return Response(receipt.model_dump_json(), media_type="application/json")

    def _conflict(self) -> Response:
        return JSONResponse({"error": {"code": "conflict", "message": f"at {self.rules.generation}"}}, 409)


def _unknown() -> Response:
    return JSONResponse({"error": {"code": "invalid", "message": "permits: is not a known field"}}, 400)


class _Guard:
    """Middleware that checks the token, and refuses all calls while the server is down."""

    def __init__(self, app: Any, server: FakeRouteServer) -> None:
        self._app, self._server = app, server

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            if self._server.down:
                await Response("down", 503)(scope, receive, send)
                return
            if (b"authorization", f"Bearer {TOKEN}".encode()) not in scope["headers"]:
                await JSONResponse({"error": {"code": "token", "message": "wrong token"}}, 401)(scope, receive, send)
                return
        await self._app(scope, receive, send)


@asynccontextmanager
async def serving(app: Any, *, grace: float = 0.1, **options: Any) -> AsyncIterator[str]:
    """Serve an ASGI application on a loopback port; yield its URL. `options` are uvicorn's, such as those for TLS."""
    chosen: dict[str, Any] = {"lifespan": "on", "log_config": None, "access_log": False} | options
    server = PromptServer(uvicorn.Config(app, port=0, timeout_graceful_shutdown=1, **chosen), grace)
    task = asyncio.create_task(server.serve_quietly())
    while not server.started:
        if task.done():
            task.result()
            raise RuntimeError("the server did not start")
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"{'https' if server.config.is_ssl else 'http'}://127.0.0.1:{port}"
    finally:
        server.stop()
        await task


@asynccontextmanager
async def fake_route_server(name: str) -> AsyncIterator[FakeRouteServer]:
    """Yield a running fake route server."""
    async with served(FakeRouteServer(name)) as server:
        yield server


@asynccontextmanager
async def served(server: S) -> AsyncIterator[S]:
    """Serve a fake route server for the time of the block."""
    async with serving(server.app, grace=0) as server.url:
        try:
            yield server
        finally:
            server.down = True
            server.more.set()
