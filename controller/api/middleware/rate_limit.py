"""Nobody asks oftener than is good for the others: so many requests a second for each caller, fewer for strangers.

Whoever comes with a credential or token that is good has a bucket of their own, however many are behind the same
address; all others share that of their address, so that guessing is slow. Requests that are let in begin one at a pass
of the event loop, the callers in turn.
"""

import math
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api.access import AGENTS, TRUSTED, bearer, caller
from controller.core.rate_limiter import RateLimiter
from controller.core.tokens import digest
from controller.core.unavailable import Unavailable
from controller.region import Region
from controller.runtime.peer import peer
from controller.runtime.problems import Problem, response
from controller.runtime.turns import Turns

KNOWN = "weft.known"
"""Key of an ASGI scope: whether the caller is somebody. It is no leave to do anything."""

BURST = 10
"""Seconds' worth of requests that may come at once."""

BYTES = 16 * 1024
"""Bytes of a body that cost as much as a request: a large one is read and looked at in one piece."""

REMEMBERED, MOST_REMEMBERED = 60.0, 10_000
"""Seconds for which a token counts as good here without being looked up, and how many of them."""


class RateLimit:
    """The unix socket is not paced: who may open it may stop the controller as well."""

    def __init__(self, app: ASGIApp, region: Callable[[], Region], rate: float, strangers: float) -> None:
        self._app, self._region = app, region
        self._callers, self._strangers = (RateLimiter(each, each * BURST) for each in (rate, strangers))
        self._good: dict[str, float] = {}  # digests of tokens that were good, and until when they count as such
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
        """What arrives is charged to the caller."""

        async def weighing() -> Message:
            message = await receive()
            if size := len(message.get("body", b"")):
                self._callers.charge(key, time.monotonic(), size / BYTES)
            return message

        return weighing

    async def _wait(self, scope: Scope, key: str | None) -> float:
        """Seconds until this caller may ask, 0 for now. A token that was good is looked up again at its own expense,
        so that strangers at its address are not in the way."""
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
        except Unavailable:  # which is what will be answered, unless it was the administrator's
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
        secret = bearer(scope)
        return digest(secret) if secret else None


def _address(scope: Scope) -> str:
    """The address that the connection comes from, as a peer."""
    return peer(scope["client"][0] if scope.get("client") else "")
