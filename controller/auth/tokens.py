"""API tokens: create, look up and revoke. Each request looks its token up in the database and no verdict is cached,
so every replica refuses a revoked token from the next request on."""

from datetime import timedelta

from sqlalchemy.exc import IntegrityError

from controller.auth.uses import Uses
from controller.core import tokens as secrets
from controller.core.clock import now
from controller.core.refusals import Refused, conflict, invalid
from controller.core.roles import Caller, Role
from controller.db import events, names
from controller.db import tokens as table
from controller.db.engine import Database
from controller.db.tokens import TokenRow
from controller.runtime.wakeup import Wakeup

NOTED = timedelta(minutes=10)
"""Time after which a further use of a token is noted in the database."""


class Tokens:
    """The tokens of users and programs. Agents have cloudlet credentials instead."""

    def __init__(self, database: Database, wakeup: Wakeup) -> None:
        self._database, self._wakeup = database, wakeup
        self.uses = Uses(database, NOTED, table.use)

    async def make(self, name: str, role: Role, seconds: int, tenant: str | None = None) -> tuple[TokenRow, str]:
        """Create a token that is valid for `seconds`, and return it with its secret, which cannot be read again.
        `tenant` goes with the role `tenant` only. Raises Refused."""
        if (role is Role.TENANT) != (tenant is not None):
            raise invalid("tenant", "a token has a tenant if its role is tenant, and only then")
        secret, at = secrets.new_secret(), now()
        expires = at + timedelta(seconds=seconds)
        row = TokenRow(
            name=name, digest=secrets.digest(secret), role=role, tenant=tenant, created_at=at, expires_at=expires
        )
        try:
            async with self._database.write() as session:
                if await table.get(session, name):
                    raise _taken(name)
                session.add(row)
                await session.flush()
                text = f"token {name} was made for {_whose(role, tenant)}, until {expires:%Y-%m-%dT%H:%M:%SZ}"
                await events.add(session, "token-made", name, text, role=role)
        except IntegrityError:
            raise _taken(name) from None
        self._wakeup.ring()
        return row, secret

    async def revoke(self, name: str) -> None:
        """Revoke a token; it authenticates nobody from now on. Raises Refused."""
        async with self._database.write() as session:
            row = await table.get(session, name, lock=True)
            if row is None:
                raise await names.missing(session, "token", name)
            if row.revoked_at is not None:
                raise conflict(f"token {name} was revoked at {row.revoked_at:%Y-%m-%dT%H:%M:%SZ}")
            row.revoked_at = now()
            await events.add(session, "token-revoked", name, f"token {name} was revoked")
        self._wakeup.ring()

    async def caller(self, secret: str) -> Caller | None:
        """Return the caller who has this secret, or None if it is not valid, or no longer. The lookup is by digest, so
        its timing tells nothing about the secret."""
        return await self.of_digest(secrets.digest(secret))

    async def of_digest(self, digest: str) -> Caller | None:
        """Return the caller whose token's secret has this digest."""
        async with self._database.read() as session:
            row = await table.of_digest(session, digest)
        at = now()
        if row is None or not row.good(at):
            return None
        self.uses.note(row.name, row.used_at, at)
        return Caller(f"token {row.name}", Role(row.role), row.tenant, row.expires_at)


def _whose(role: Role, tenant: str | None) -> str:
    return f"role {role}" if tenant is None else f"tenant {tenant}"


def _taken(name: str) -> Refused:
    return conflict(f"there is, or was, a token {name}: a name is given once, so that it is known who did what", "name")
