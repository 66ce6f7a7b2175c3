"""The audit entry of each operator's request that may change something. The request's transaction writes it
(`AUDIT_CONTEXT`); for a request that was refused, or had no transaction, this middleware does."""

import logging
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.auth.audit_context import AUDIT_CONTEXT, AuditContext
from controller.core.names import printable
from controller.core.roles import looks
from controller.core.unavailable import Unavailable
from controller.db.engine import Database

log = logging.getLogger(__name__)

LONGEST = 1000


class Audit:
    """Writes audit entries. It runs inside `Idempotency`, so a repeated answer gets no second entry. Agents' requests
    are not audited here."""

    def __init__(self, app: ASGIApp, database: Callable[[], Database]) -> None:
        self._app, self._database = app, database

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        quiet = scope["type"] != "http" or scope["method"] == "OPTIONS" or scope["path"].startswith("/api/v1/agent/")
        if quiet or looks(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return
        acting = AuditContext(scope["method"], _path(scope))

        async def body() -> Message:
            message = await receive()
            acting.body += message.get("body", b"")
            return message

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._record(acting, message["status"])
            await send(message)

        token = AUDIT_CONTEXT.set(acting)
        try:
            await self._app(scope, body, note)
        except Exception:
            await self._record(acting, 500)
            raise
        finally:
            AUDIT_CONTEXT.reset(token)
            acting.who = None  # work that continues after the answer is not the caller's

    async def _record(self, acting: AuditContext, status: int) -> None:
        """Add an entry, unless the log has one with this status."""
        if acting.who is None or acting.written == status:
            return
        acting.status, acting.written = status, None
        try:
            async with self._database().write():
                pass
        except Unavailable as away:
            log.error("not in the audit log: %s %s %s %d: %s", acting.who, acting.method, acting.path, status, away)
            acting.written = status


def _path(scope: Scope) -> str:
    """Return the path and query as they were sent, which is ASCII."""
    sent = scope.get("raw_path") or scope["path"].encode()
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    return printable((sent + query).decode("ascii", "replace"), LONGEST)
