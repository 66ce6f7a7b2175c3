"""Limits on the size and shape of bodies. The body of a caller without a valid credential is not read: the head alone
decides that.

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
"""Maximum bytes of a body."""

MAX_LARGE = 4 * 1024 * 1024
"""Maximum bytes of an agent's message, a policy or an inventory: a report of a cloudlet with thousands of tunnels stays
well below it."""

MAX_ENROLMENT = 32 * 1024
"""Maximum bytes of a body that anybody may send: an enrolment, most of which is a certificate request, or a sign-in."""

TEXTS, ENROLMENTS, SIGN_IN = ("/api/v1/policy/", "/api/v1/inventory/"), "/api/v1/enrolments", "/ui/session"

MOST_THROWN_AWAY = 16 * 1024 * 1024

STRANGERS_THROWN_AWAY = 256 * 1024
"""Bytes of an unknown caller's body that are read and discarded, so that a client that is still sending sees the
answer."""

SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class BodyLimits:
    """Reads the whole body before the application runs, or refuses the request without reading it."""

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
            if not scope["path"].startswith(TEXTS) and (reason := unfit(body)):
                raise Problem(400, f"The body {reason}.")
            if _half_a_pair(body):
                raise Problem(
                    400, "The body has half of a surrogate pair (\\ud800 to \\udfff), which is not a character."
                )
        except Problem as problem:
            await response(problem, scope["path"])(scope, receive, send)
        except Unavailable as away:  # no work was begun
            await response(of_trouble(away), scope["path"])(scope, receive, send)
        else:
            await self._app(scope, replay(body, receive), send)

    async def _most(self, scope: Scope, receive: Receive) -> int:
        """Return the maximum bytes of this caller's body. Raises Problem for an unknown caller, who may only enrol."""
        if scope.get(KNOWN) is True:
            return MAX_LARGE if scope["path"].startswith((AGENTS, *TEXTS)) else MAX_BODY
        if scope["path"] in (ENROLMENTS, SIGN_IN):
            return MAX_ENROLMENT
        try:
            await judge(scope, self._region())
        except Problem as problem:
            await _throw_away(receive, STRANGERS_THROWN_AWAY)
            problem.headers["Connection"] = "close"
            raise
        scope[KNOWN] = True  # its token has become valid only now
        return MAX_BODY


def _half_a_pair(body: bytes) -> bool:
    """Return whether JSON contains text that cannot be encoded (RFC 7493, section 2.1)."""
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
    """Return the body of at most `most` bytes; None if the client went away meanwhile. Reads and discards the rest of a
    larger body, within limits, because a client that is still sending would not see the answer. Raises Problem."""
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
    """Read to the end of the body, or until `most` bytes were read; `message` is the last part that was read."""
    size = 0
    while size <= most and (message is None or message.get("more_body", False)):
        message = await receive()
        size += len(message.get("body", b""))


def replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Return a `receive` that repeats the body, then passes on the client's further messages."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return parts.pop() if parts else await receive()

    return again
