"""A change with an Idempotency-Key takes effect only once, for known callers: the database keeps a row of each key, and
an unknown caller creates none. Plain ASGI, inside `BodyLimits`, so the whole body is available."""

import asyncio
import hashlib
import json
import logging
import re
import time
from collections import Counter
from collections.abc import Callable

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api.access import AGENTS, TRUSTED, judge, presented
from controller.api.errors import of_trouble
from controller.api.middleware.body_limits import ENROLMENTS, replay
from controller.api.middleware.rate_limit import KNOWN
from controller.core.unavailable import Unavailable
from controller.db import idempotency
from controller.db.idempotency import IdempotencyRow
from controller.region import Region
from controller.runtime.idempotency import ONCE, Once
from controller.runtime.problems import FieldError, Problem, response

log = logging.getLogger(__name__)

RETRY = 1.0
"""Seconds between two attempts to store an answer while the database is unavailable."""

PATIENCE, LOOK = 10.0, 0.05
"""Seconds that a repeated request waits for the answer to the first, and seconds between two checks for it."""

KEY = re.compile(r"[!-~]{1,200}")

SECRETS = ("token", "tokens", "credential", "keys", "secret")
"""Fields of an answer that are not stored: a repeated answer does not show a secret again."""

PRUNED = 500
"""Number of new keys of one caller after which the caller's surplus keys are deleted."""

MOST_COUNTED = 10_000


CHANGES = ("POST", "PATCH", "PUT", "DELETE")


class Idempotency:
    """Stores answers, and repeats them."""

    def __init__(self, app: ASGIApp, region: Callable[[], Region]) -> None:
        self._app, self._region = app, region
        self._claims: Counter[str] = Counter()  # by caller, since the caller's keys were last counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        keyed = scope["type"] == "http" and scope["method"] in CHANGES and scope.get(KNOWN) is True
        if not keyed or scope["path"].startswith(AGENTS) or "idempotency-key" not in Headers(scope=scope):
            await self._app(scope, receive, send)
            return
        try:
            body = (await receive()).get("body", b"")
            await self._once(scope, body, receive, send)
        except Problem as problem:
            await response(problem, scope["path"])(scope, receive, send)
        except Unavailable as away:  # no work was begun
            await response(of_trouble(away), scope["path"])(scope, receive, send)

    async def _once(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        given = headers["idempotency-key"]
        if not KEY.fullmatch(given):
            message = "1 to 200 visible ASCII characters are allowed"
            raise Problem(422, "Bad Idempotency-Key.", [FieldError(field="Idempotency-Key", message=message)])
        caller = await self._caller(scope)
        who = "trusted" if scope.get(TRUSTED) is True else headers.get("authorization") or presented(scope) or ""
        key = _digest(who.encode(), given.encode())
        target = Request(scope).url.path.encode()
        if scope["method"] != "POST":  # a POST's digest is that of releases in which only a POST could have a key
            target = scope["method"].encode() + b" " + target
        request = _digest(target, scope["query_string"], body)
        until = time.monotonic() + PATIENCE
        while True:
            claimed = await self._claim(key, request, caller)
            if isinstance(claimed, Once):
                await self._keep(claimed, scope, body, receive, send)
                return
            waits = claimed is None or (claimed.status is None and claimed.request == request)
            if claimed is not None and not (waits and time.monotonic() < until):
                await self._caller(scope)  # the wait may have been long
                await _again(claimed, request)(scope, receive, send)
                return
            await asyncio.sleep(LOOK)

    async def _caller(self, scope: Scope) -> str:
        """Return a digest of the authenticated caller. Enrolments have no bearer token, but a token in their body.
        Raises Problem and Unavailable."""
        name = "enrolment" if scope["path"] == ENROLMENTS else await judge(scope, self._region())
        return _digest(name.encode())

    async def _claim(self, key: str, request: str, caller: str) -> IdempotencyRow | Once | None:
        """Return the row of the key, or a `Once` if this replica now owns the key, because the key is new or its owner
        is gone. None if another request claims the key at this moment."""
        region = self._region()
        database, me = region.database, region.replication.replicas.instance
        try:
            async with database.write() as session:
                kept = await idempotency.get(session, key)
                if kept is None:
                    idempotency.begin(session, key, request, me, caller)
                    await self._trim(session, caller)
                    return Once(key, me)
                if kept.status is not None or kept.request != request:
                    return kept
                if kept.owner in await region.replication.replicas.owners(session):
                    return kept
                return Once(key, me, kept.generation) if await idempotency.take(session, key, kept.owner, me) else None
        except IntegrityError:
            return None

    async def _trim(self, session: AsyncSession, caller: str) -> None:
        """Count the caller's keys now and then, and delete the oldest, so that no caller fills the database."""
        self._claims[caller] += 1
        if self._claims[caller] >= PRUNED:
            del self._claims[caller]
            await idempotency.trim(session, caller)
        if len(self._claims) > MOST_COUNTED:
            self._claims.clear()  # the leader's maintenance counts them all

    async def _keep(self, once: Once, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Answer the request and store the answer. The caller gets the end of the answer only once it is stored, so
        that a repetition finds it; but the caller does not wait for a database that is unavailable."""
        answer = _Answer(send, secrets=once.made is None)
        token = ONCE.set(once)
        try:
            await self._app(scope, replay(body, receive), answer)
        finally:
            ONCE.reset(token)
            kept = await self._kept(scope, once.key, answer)
            await answer.end()
            while not kept:
                await asyncio.sleep(RETRY)
                kept = await self._kept(scope, once.key, answer)

    async def _kept(self, scope: Scope, key: str, answer: "_Answer") -> bool:
        """Store the answer, or free the key. Returns False while the database is unavailable."""
        try:
            async with self._region().database.write() as session:
                said = answer.complete and answer.status < 500 and answer.status not in (401, 403, 429)
                if said and scope.get("route") is not None:  # nothing is stored for a path that does not exist
                    media_type, etag = answer.headers.get("content-type"), answer.headers.get("etag")
                    kept = _without_secrets(answer.body)
                    await idempotency.finish(session, key, answer.status, etag, media_type, kept)
                else:
                    await idempotency.forget(session, key)
        except Unavailable as away:
            log.warning("an answer with an Idempotency-Key cannot be kept yet: %s", away)
            return False
        return True


class _Answer:
    """Passes an answer on, except for its end, and remembers it. Without `secrets` it holds back the whole answer, and
    passes it on without its secrets: the change was made before, so these new secrets are void."""

    def __init__(self, send: Send, *, secrets: bool) -> None:
        self._send, self._secrets = send, secrets
        self.status = 0
        self.headers = Headers()
        self.body = b""
        self._start: Message | None = None
        self._end: Message | None = None

    @property
    def complete(self) -> bool:
        return self._end is not None

    async def end(self) -> None:
        """Pass on the part that was held back."""
        if self._end is None:
            return
        if self._start is not None:
            body = _without_secrets(self.body)
            headers = MutableHeaders(raw=list(self._start["headers"]))
            headers["content-length"] = str(len(body))
            await self._send({**self._start, "headers": headers.raw})
            self._end = {"type": "http.response.body", "body": body, "more_body": False}
        await self._send(self._end)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], Headers(raw=message["headers"])
            if not self._secrets:
                self._start = dict(message)
                return
        else:
            self.body += message.get("body", b"")
            if not message.get("more_body", False):
                self._end = message
                return
            if not self._secrets:
                return
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


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
