"""Checks on a request's head, before it is parsed: bounded size, and only one possible meaning.

An attacker gets a request past one of two programs if they read it differently, such as a path with `%2F` in it or a
length that is given twice. This API needs none of these forms.
"""

import re
from collections import Counter
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Receive, Scope, Send

from controller.runtime.problems import Problem, response

MAX_TARGET = 8 * 1024
"""Maximum bytes of path and query."""
MAX_HEADERS, MAX_HEADER_BYTES = 100, 16 * 1024

ONCE = frozenset(
    (b"authorization", b"content-length", b"content-type", b"host", b"idempotency-key", b"if-match", b"last-event-id")
)
_TWICE_READ = re.compile(rb"%(2f|5c|00|25)|[\\;]", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


class RequestHead:
    """Refuses the requests for which `refusal` finds a reason."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (problem := refusal(scope)):
            await response(problem, _CONTROL.sub("", scope["path"])[:200])(scope, receive, send)
            return
        await self._app(scope, receive, send)


def refusal(scope: Scope) -> Problem | None:
    """Return the problem that refuses this head, or None."""
    path, query, headers = scope.get("raw_path") or scope["path"].encode(), scope["query_string"], scope["headers"]
    closing = {"Connection": "close"}
    if len(path) + len(query) > MAX_TARGET:
        return Problem(414, f"Path and query are longer than {MAX_TARGET} bytes.", headers=closing)
    if len(headers) > MAX_HEADERS or sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
        limits = f"{MAX_HEADERS} headers, or {MAX_HEADER_BYTES} bytes of them"
        return Problem(431, f"There are more than {limits}.", headers=closing)
    names = Counter(name for name, _ in headers)
    for name in sorted(ONCE):
        if names[name] > 1:
            return Problem(400, f"The header {name.decode()} is there {names[name]} times.", headers=closing)
    if b"transfer-encoding" in names and b"content-length" in names:
        return Problem(400, "Either Transfer-Encoding or Content-Length says how long a body is.", headers=closing)
    if reason := _path(path):
        return Problem(400, f"The path has {reason}.")
    return None


def _path(path: bytes) -> str | None:
    if found := _TWICE_READ.search(path):
        return f"{found[0].decode()} in it, which not everybody reads alike"
    try:
        text = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return "bytes in it that are not UTF-8"
    if _CONTROL.search(text):
        return "control characters in it"
    if {".", ".."} & set(text.split("/")):
        return "dots for a segment"
    return None
