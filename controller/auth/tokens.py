"""API tokens: made, looked up with every request that brings one, revoked. Nothing of them is remembered here, so a
token that is revoked anywhere is worth nothing everywhere with the next request."""

from datetime import timedelta

from sqlalchemy.exc import IntegrityError

from controller.core import tokens as secrets
from controller.core.clock import now
from controller.core.refusals import Refused, conflict, invalid
from controller.core.roles import Caller, Role
from controller.db import events, names
from controller.db import tokens as table
from controller.db.engine import Database
from controller.db.tokens import TokenRow
from controller.runtime.wakeup import Wakeup


class Tokens:
    """Those of people and programs; what agents have is the cloudlets'."""

    def __init__(self, database: Database, wakeup: Wakeup) -> None:
        self._database, self._wakeup = database, wakeup

    async def make(self, name: str, role: Role, seconds: int, tenant: str | None = None) -> tuple[TokenRow, str]:
        """A token that is good for so long, and its secret, which cannot be had again. `tenant` is for the role of that
        name. Raises Refused."""
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
        """From now on it lets nobody in. Raises Refused."""
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
        """Who comes with a secret; None if it is not, or no longer, good. Looked up by digest, so timing tells nothing
        about the secret."""
        async with self._database.read() as session:
            row = await table.of_digest(session, secrets.digest(secret))
        good = row is not None and row.good(now())
        return Caller(f"token {row.name}", Role(row.role), row.tenant) if row is not None and good else None


def _whose(role: Role, tenant: str | None) -> str:
    return f"role {role}" if tenant is None else f"tenant {tenant}"


def _taken(name: str) -> Refused:
    return conflict(f"there is, or was, a token {name}: a name is given once, so that it is known who did what", "name")
