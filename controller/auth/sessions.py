"""Sessions of the web UI. A browser trades a token, or a sign-in at the OIDC issuer, for a session: a random secret in
a cookie that no script can read. Every replica finds the session in the database, and nothing is cached, so a session
ends everywhere with the next request: by signing out, with its token, or with its time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from controller.auth.tokens import Tokens
from controller.auth.uses import Uses
from controller.core import oidc_users
from controller.core import tokens as secrets
from controller.core.clock import now
from controller.core.oidc_users import Mapped
from controller.core.roles import ADMIN, Caller
from controller.db import ui_sessions as table
from controller.db.engine import Database
from controller.db.ui_sessions import UiSessionRow

UI = "weft.ui"
"""Key of an ASGI scope: the request came to the UI's listener."""

SESSION = "weft.session"
"""Key of an ASGI scope: the session that a browser shows. Only the UI's listener sets it, so no other takes one."""

NOTED = timedelta(minutes=1)
"""Time after which a further act of the user is noted in the database."""


@dataclass(frozen=True)
class ShownSession:
    """The session's secret. `attended`: the user acts; a page that refreshes itself keeps no session alive."""

    secret: str
    attended: bool


@dataclass(frozen=True)
class Grant:
    """The reason for a session: the `credential`, which is the digest of a token, or the `claims` of an OIDC user.
    `who` is the user's name in the audit log, `until` the end of the token."""

    who: str
    until: datetime | None
    credential: str | None = None
    claims: Mapping[str, Any] | None = None


class Sessions:
    """The sessions of a region. `admin` is the digest of the admin token; `idle` is how long a session lasts without an
    act of its user, `lifetime` how long at most."""

    def __init__(
        self,
        database: Database,
        tokens: Tokens,
        admin: str | None,
        mapped: Mapped | None,
        idle: timedelta,
        lifetime: timedelta,
    ) -> None:
        self._database, self._tokens, self._admin, self._mapped = database, tokens, admin, mapped
        self.idle, self._lifetime = idle, lifetime
        self.uses = Uses(database, NOTED, table.touch)

    async def begin(self, grant: Grant, before: str | None = None) -> tuple[str, datetime]:
        """Begin a session and return its secret and its end. Ends the session `before` of the same browser, so that no
        session outlives a sign-in, and none that an attacker knows becomes the user's."""
        secret, end = secrets.new_secret(), now() + self._lifetime
        until = end if grant.until is None else min(end, grant.until)
        async with self._database.write() as session:
            if before is not None:
                await table.end(session, secrets.digest(before))
            await table.add(
                session,
                secrets.digest(secret),
                grant.who,
                until,
                credential=grant.credential,
                claims=grant.claims,
            )
        return secret, until

    async def caller(self, shown: ShownSession) -> Caller | None:
        """Return the user of a session, or None if it is over. `until` of the caller is the end of the session."""
        digest, at = secrets.digest(shown.secret), now()
        async with self._database.read() as session:
            row = await table.get(session, digest)
        if row is None or at >= row.expires_at or at >= row.seen_at + self.idle:
            return None
        if (found := await self._user(row)) is None:
            return None
        if shown.attended:
            self.uses.note(digest, row.seen_at, at)
        return replace(found, until=row.expires_at)

    async def end(self, secret: str) -> None:
        """End a session."""
        async with self._database.write() as session:
            await table.end(session, secrets.digest(secret))

    async def _user(self, row: UiSessionRow) -> Caller | None:
        """Return the user as the token, or the present mapping of claims, says."""
        if row.claims is not None:
            try:
                return oidc_users.caller(row.claims, self._mapped) if self._mapped is not None else None
            except oidc_users.NoRole:
                return None
        if self._admin is not None and row.credential == self._admin:
            return ADMIN
        return await self._tokens.of_digest(row.credential or "")
