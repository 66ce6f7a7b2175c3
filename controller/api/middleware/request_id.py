"""The id of a request: in the answer's header `X-Request-Id`, and in all log lines about the request that are
objects."""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.wire.log_fields import about

HEADER = "X-Request-Id"


class RequestId:
    """Gives each request a new id. One that the caller sends has no effect, because it would let callers make their
    lines look like another's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = secrets.token_hex(8)

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = name
            await send(message)

        with about(request=name):
            await self._app(scope, receive, add)
