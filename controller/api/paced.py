"""Nobody asks oftener than is good for the others: so many requests a second for each caller, fewer for strangers.

Whoever comes with a credential or token that is good has a bucket of their own, however many are behind the same
address; all others share that of their address, so that guessing is slow.
"""

import math
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from controller.api.access import AGENTS, TRUSTED, bearer, caller
from controller.connections import peer
from controller.core.buckets import Buckets
from controller.core.tokens import digest
from controller.db.trouble import Unavailable
from controller.problems import Problem, response
from controller.region import Region

KNOWN = "weft.known"
"""Key of an ASGI scope: whether the caller is somebody. It is no leave to do anything."""

BURST = 10
"""Seconds' worth of requests that may come at once."""

REMEMBERED, MOST_REMEMBERED = 60.0, 10_000
"""Seconds for which a token counts as good here, and how many of them."""


class Paced:
    """The unix socket is not paced: who may open it may stop the controller as well."""

    def __init__(self, app: ASGIApp, region: Callable[[], Region], rate: float, strangers: float) -> None:
        self._app, self._region = app, region
        self._callers, self._strangers = (Buckets(each, each * BURST) for each in (rate, strangers))
        self._good: dict[str, float] = {}  # digests of tokens, and until when they count as good

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get(TRUSTED) is not True:
            wait = await self._wait(scope)
            if wait:
                headers = {"Retry-After": str(math.ceil(wait))}
                problem = Problem(429, "There are too many requests of this caller.", headers=headers)
                await response(problem, scope["path"])(scope, receive, send)
                return
        else:
            scope[KNOWN] = True
        await self._app(scope, receive, send)

    async def _wait(self, scope: Scope) -> float:
        """Seconds until this caller may ask, 0 for now."""
        now, key = time.monotonic(), self._bearer(scope)
        if key and (self._region().intent.credentials.get(key) or self._good.get(key, 0.0) > now):
            scope[KNOWN] = True
            return self._callers.take(key, now)
        address = scope["client"][0] if scope.get("client") else ""
        if wait := self._strangers.take(peer(address), now):
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

    def _bearer(self, scope: Scope) -> str | None:
        secret = bearer(scope)
        return digest(secret) if secret else None
