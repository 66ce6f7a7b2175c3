"""Counts and times every request, by route, not by path."""

import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.runtime.metrics import Metrics

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
"""Methods that are counted by name. Each counted name stays in memory, and a caller may invent any."""


class RequestMetrics:
    """Counts requests and their duration. Streams are not timed, because they last as long as their client likes."""

    def __init__(self, app: ASGIApp, metrics: Callable[[], Metrics]) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, stream = time.perf_counter(), 500, False

        async def note(message: Message) -> None:
            nonlocal status, stream
            if message["type"] == "http.response.start":
                status = message["status"]
                stream = any(k == b"content-type" and v.startswith(b"text/event-stream") for k, v in message["headers"])
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            metrics, method = self._metrics(), scope["method"] if scope["method"] in METHODS else "other"
            metrics.requests.labels(method, route, str(status)).inc()
            if not stream:
                metrics.request_seconds.labels(method, route).observe(time.perf_counter() - started)
