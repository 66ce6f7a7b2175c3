"""Limits on requests: a number a second for each caller, fewer for unknown callers, so that no caller slows down the
others.

A caller with a valid credential or token has a bucket of its own, however many callers share its address. All others
share the bucket of their address, so that guessing tokens is slow. Admitted requests start one at each pass of the
event loop, the callers in turn.
"""

import math
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api.access import AGENTS, TRUSTED, bearer, caller, presented
from controller.core.rate_limiter import RateLimiter
from controller.core.tokens import digest
from controller.core.unavailable import Unavailable
from controller.region import Region
from controller.runtime.peer import peer
from controller.runtime.problems import Problem, response
from controller.runtime.turns import Turns

KNOWN = "weft.known"
"""Key of an ASGI scope: whether the caller is known. It authorises nothing."""

BURST = 10
"""Seconds' worth of requests that may come at once."""

BYTES = 16 * 1024
"""Bytes of a body that cost as much as a request: a large body is read and checked in one piece."""

REMEMBERED, MOST_REMEMBERED = 60.0, 10_000
"""Seconds for which a token counts as valid here without a lookup, and the maximum number of such tokens."""


class RateLimit:
    """Limits requests, except those over the unix socket: a user who may open it may also stop the controller."""

    def __init__(self, app: ASGIApp, region: Callable[[], Region], rate: float, strangers: float) -> None:
        self._app, self._region = app, region
        self._callers, self._strangers = (RateLimiter(each, each * BURST) for each in (rate, strangers))
        self._good: dict[str, float] = {}  # digests of valid tokens, and until when they need no lookup
        self._turns = Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get(TRUSTED) is not True:
            key = self._bearer(scope)
            wait = await self._wait(scope, key)
            if wait:
                headers = {"Retry-After": str(math.ceil(wait))}
                problem = Problem(429, "There are too many requests of this caller.", headers=headers)
                await response(problem, scope["path"])(scope, receive, send)
                return
            if key and scope[KNOWN]:
                await self._turns.wait(key)
                receive = self._weighed(key, receive)
            else:
                await self._turns.wait(_address(scope))
        else:
            scope[KNOWN] = True
        await self._app(scope, receive, send)

    def _weighed(self, key: str, receive: Receive) -> Receive:
        """Return a `receive` that charges the bytes of the body to the caller."""

        async def weighing() -> Message:
            message = await receive()
            if size := len(message.get("body", b"")):
                self._callers.charge(key, time.monotonic(), size / BYTES)
            return message

        return weighing

    async def _wait(self, scope: Scope, key: str | None) -> float:
        """Return the seconds until this caller may send a request, 0 for now. A token that was valid before is looked
        up at the expense of its own bucket, so that unknown callers at its address do not block it."""
        now = time.monotonic()
        if key and (self._region().intent.credentials.get(key) or key in self._good):
            if wait := self._callers.take(key, now):
                scope[KNOWN] = True
                return wait
            scope[KNOWN] = self._good.get(key, now) >= now or await self._is_good(scope, key, now)
            return 0.0
        if wait := self._strangers.take(_address(scope), now):
            return wait
        scope[KNOWN] = await self._is_good(scope, key, now)
        return 0.0

    async def _is_good(self, scope: Scope, key: str | None, now: float) -> bool:
        if key is None or scope["path"].startswith(AGENTS):
            return False
        try:
            await caller(scope, self._region(), bearer(scope))
        except Unavailable:  # the request gets that answer too, unless its token is the admin token
            return True
        except Problem:
            self._good.pop(key, None)
            return False
        if len(self._good) >= MOST_REMEMBERED:
            self._good.clear()
        self._good[key] = now + REMEMBERED
        return True

    @staticmethod
    def _bearer(scope: Scope) -> str | None:
        secret = presented(scope)
        return digest(secret) if secret else None


def _address(scope: Scope) -> str:
    """Return the address that the connection comes from, as a peer."""
    return peer(scope["client"][0] if scope.get("client") else "")
