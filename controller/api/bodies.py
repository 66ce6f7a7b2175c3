"""The outermost layer: bodies of bounded size, and a POST with an Idempotency-Key done only once.

Plain ASGI, so that streams pass through untouched.
"""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable

from sqlalchemy.exc import IntegrityError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api.access import TRUSTED
from controller.db import idempotency
from controller.db.engine import Database
from controller.db.idempotency import IdempotencyRow
from controller.problems import FieldError, Problem, response

MAX_BODY = 4 * 1024 * 1024
"""Bytes: a report of a cloudlet with thousands of tunnels stays well below it."""

MOST_THROWN_AWAY = 16 * MAX_BODY

KEY = re.compile(r"[!-~]{1,200}")

SECRETS = ("token",)
"""Fields of an answer that are not kept: a repetition does not show a secret again."""


class Bodies:
    """Reads the whole body before anything else happens."""

    def __init__(self, app: ASGIApp, database: Callable[[], Database]) -> None:
        self._app, self._database = app, database

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        try:
            body = await _read(receive)
            if body is None:
                return
            await self._once(scope, body, receive, send)
        except Problem as problem:
            await response(problem, scope["path"])(scope, receive, send)

    async def _once(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        given = headers.get("idempotency-key")
        if given is None or scope["method"] != "POST" or scope["path"].startswith("/api/v1/agent/"):
            await self._app(scope, _replay(body, receive), send)
            return
        if not KEY.fullmatch(given):
            message = "1 to 200 visible ASCII characters are allowed"
            raise Problem(422, "Bad Idempotency-Key.", [FieldError(field="Idempotency-Key", message=message)])
        who = "trusted" if scope.get(TRUSTED) is True else headers.get("authorization", "")
        key = _digest(who.encode(), given.encode())
        request = _digest(Request(scope).url.path.encode(), scope["query_string"], body)
        if kept := await self._claim(key, request):
            await _again(kept, request)(scope, receive, send)
            return
        await self._keep(key, scope, body, receive, send)

    async def _claim(self, key: str, request: str) -> IdempotencyRow | None:
        """The answer kept under the key; None if the key is now ours."""
        database = self._database()
        try:
            async with database.write() as session:
                if kept := await idempotency.get(session, key):
                    return kept
                idempotency.begin(session, key, request)
        except IntegrityError:
            async with database.read() as session:
                return await idempotency.get(session, key)
        return None

    async def _keep(self, key: str, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        answer = _Answer(send)
        try:
            await self._app(scope, _replay(body, receive), answer)
        finally:
            async with self._database().write() as session:
                if answer.complete and answer.status < 500 and answer.status not in (401, 403):
                    media_type, etag = answer.headers.get("content-type"), answer.headers.get("etag")
                    kept = _without_secrets(answer.body)
                    await idempotency.finish(session, key, answer.status, etag, media_type, kept)
                else:
                    await idempotency.forget(session, key)


class _Answer:
    """Passes an answer on and remembers it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.headers = Headers()
        self.body = b""
        self.complete = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], Headers(raw=message["headers"])
        else:
            self.body += message.get("body", b"")
            self.complete = not message.get("more_body", False)
        await self._send(message)


def _again(kept: IdempotencyRow, request: str) -> Response:
    if kept.request != request:
        message = "this key came with another request before"
        raise Problem(422, "The Idempotency-Key is taken.", [FieldError(field="Idempotency-Key", message=message)])
    if kept.status is None:
        message = "The first request with this Idempotency-Key is still under way."
        raise Problem(409, message, headers={"Retry-After": "1"})
    headers = {"Idempotency-Replayed": "true"} | ({"ETag": kept.etag} if kept.etag else {})
    return Response(kept.body or b"", kept.status, headers, kept.media_type)


def _without_secrets(body: bytes) -> bytes:
    try:
        document = json.loads(body)
    except ValueError:
        return body
    if not isinstance(document, dict) or not any(name in document for name in SECRETS):
        return body
    return json.dumps({k: None if k in SECRETS else v for k, v in document.items()}).encode()


async def _read(receive: Receive) -> bytes | None:
    """The body; None if the client went away in the middle of it. What is too large is read to its end, within reason,
    and thrown away: a client that is still sending would not see the answer."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= MAX_BODY:
            chunks.append(chunk)
        if size > MOST_THROWN_AWAY or not message.get("more_body", False):
            break
    if size > MAX_BODY:
        raise Problem(413, f"The body is larger than {MAX_BODY} bytes.", headers={"Connection": "close"})
    return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """The body once more, then whatever else the client does."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return parts.pop() if parts else await receive()

    return again


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
