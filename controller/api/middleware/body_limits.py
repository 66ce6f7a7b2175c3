"""Bodies of bounded size and shape. Of a caller that is nobody none is read: the head says that already.

Plain ASGI, so that streams pass through untouched.
"""

import json
import re
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api.access import AGENTS, judge
from controller.api.errors import of_trouble
from controller.api.middleware.rate_limit import KNOWN
from controller.core.json_limits import unfit
from controller.core.unavailable import Unavailable
from controller.region import Region
from controller.runtime.problems import Problem, response

MAX_BODY = 256 * 1024
"""Bytes."""

MAX_LARGE = 4 * 1024 * 1024
"""Bytes of what agents say, and of policies: a report of a cloudlet with thousands of tunnels stays well below it."""

MAX_ENROLMENT = 32 * 1024
"""Bytes of what anybody may send: an enrolment, of which a request for a certificate is most."""

POLICY, ENROLMENTS = "/api/v1/policy/", "/api/v1/enrolments"

MOST_THROWN_AWAY = 16 * 1024 * 1024

STRANGERS_THROWN_AWAY = 256 * 1024
"""Bytes of a body of somebody unknown that are thrown away, so that a client that is still sending sees the answer."""

SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class BodyLimits:
    """Reads the whole body before anything else happens, if it is to be read at all."""

    def __init__(self, app: ASGIApp, region: Callable[[], Region]) -> None:
        self._app, self._region = app, region

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        try:
            most = await self._most(scope, receive)
            body = await _read(receive, most)
            if body is None:
                return
            if not scope["path"].startswith(POLICY) and (reason := unfit(body)):
                raise Problem(400, f"The body {reason}.")
            if _half_a_pair(body):
                raise Problem(400, "The body has half of a surrogate pair (\\ud800 to \\udfff), which is no character.")
        except Problem as problem:
            await response(problem, scope["path"])(scope, receive, send)
        except Unavailable as away:  # nothing was begun
            await response(of_trouble(away), scope["path"])(scope, receive, send)
        else:
            await self._app(scope, replay(body, receive), send)

    async def _most(self, scope: Scope, receive: Receive) -> int:
        """How many bytes this caller may send here. Raises Problem for somebody unknown, who may enrol and no more."""
        if scope.get(KNOWN) is True:
            return MAX_LARGE if scope["path"].startswith((AGENTS, POLICY)) else MAX_BODY
        if scope["path"] == ENROLMENTS:
            return MAX_ENROLMENT
        try:
            await judge(scope, self._region())
        except Problem as problem:
            await _throw_away(receive, STRANGERS_THROWN_AWAY)
            problem.headers["Connection"] = "close"
            raise
        scope[KNOWN] = True  # since a moment ago
        return MAX_BODY


def _half_a_pair(body: bytes) -> bool:
    """Whether JSON has text in it that cannot be written down (RFC 7493, section 2.1)."""
    if not SURROGATE.search(body):
        return False
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):  # not JSON at all, or YAML with more brackets than any policy has
        return False
    return False


async def _read(receive: Receive, most: int) -> bytes | None:
    """The body, of so many bytes at most; None if the client went away in the middle of it. What is too large is read
    to its end, within reason, and thrown away: a client that is still sending would not see the answer."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > most:
            await _throw_away(receive, MOST_THROWN_AWAY if most > MAX_ENROLMENT else STRANGERS_THROWN_AWAY, message)
            raise Problem(413, f"The body is larger than {most} bytes.", headers={"Connection": "close"})
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def _throw_away(receive: Receive, most: int, message: Message | None = None) -> None:
    """Reads on to the end of the body, or until there were so many bytes; `message` is what was read of it last."""
    size = 0
    while size <= most and (message is None or message.get("more_body", False)):
        message = await receive()
        size += len(message.get("body", b""))


def replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """The body once more, then whatever else the client does."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return parts.pop() if parts else await receive()

    return again
