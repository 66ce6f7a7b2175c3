"""The span of each operator's request, while traces are made (`wire/tracing.py`). Agents' requests, streams and the
controller's health have none: they are many, and say nothing about a change or a move."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api.access import AGENTS
from controller.wire import tracing
from controller.wire.log_fields import fields, note

API = "/api/v1/"


class Traces:
    """Begins a span where the caller's `traceparent` says."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not tracing.on() or scope["type"] != "http" or not _traced(scope):
            await self._app(scope, receive, send)
            return
        status = 500

        async def look(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"]
        of = {"http.request.method": method, "weft.request": fields().get("request", "")}
        with tracing.span(method, of, kind="server", caller=Headers(scope=scope)) as span:
            note(trace=span.trace)
            await self._app(scope, receive, look)
            route = getattr(scope.get("route"), "path", "")
            span.name(f"{method} {route}".strip())
            span.set({"http.route": route, "http.response.status_code": status})
            if status >= 500:
                span.fail(str(status))


def _traced(scope: Scope) -> bool:
    path: str = scope["path"]
    stream = "text/event-stream" in Headers(scope=scope).get("accept", "")
    return path.startswith(API) and not path.startswith(AGENTS) and not stream
