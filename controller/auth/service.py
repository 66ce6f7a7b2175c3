"""Callers of the API other than agents: holders of API tokens, users of an OpenID Connect issuer, and sessions of the
web UI, which stand for either."""

from datetime import timedelta
from typing import ClassVar

from controller.auth.jwt import Expected
from controller.auth.oidc_flow import OidcFlow
from controller.auth.oidc_users import OidcUsers
from controller.auth.sessions import Sessions
from controller.auth.tokens import Tokens
from controller.core.tokens import digest
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service, forever
from controller.settings import OidcSettings, Settings, read_token


class AuthService(Service):
    """The authentication of callers. `admin_token` is None if the operator API is served on the unix socket only;
    `oidc_users` is None if no issuer is configured, `oidc_flow` if browsers do not sign in there. Raises
    BadSettings."""

    name: ClassVar[str] = "auth"

    def __init__(self, settings: Settings, runtime: Runtime) -> None:
        self.admin_token = read_token(settings.admin_token_file, "WEFT_ADMIN_TOKEN_FILE")
        self.tokens = Tokens(runtime.database, runtime.wakeup)
        self.oidc_users = OidcUsers.of(settings.oidc) if settings.oidc else None
        self.oidc_flow: OidcFlow | None = None
        if settings.oidc and self.oidc_users and settings.oidc.client_id and settings.ui_url:
            self.oidc_flow = _flow(settings.oidc, settings.oidc.client_id, settings.ui_url, self.oidc_users)
        self.sessions = Sessions(
            runtime.database,
            self.tokens,
            digest(self.admin_token) if self.admin_token else None,
            self.oidc_users.mapped if self.oidc_users else None,
            timedelta(seconds=settings.ui_idle_seconds),
            timedelta(seconds=settings.ui_session_seconds),
        )

    async def run(self) -> None:
        """Write the last uses of tokens and sessions, until cancelled."""
        await forever(self.tokens.uses.run, self.sessions.uses.run)

    async def close(self) -> None:
        """Write the uses that are not written yet, and close the connections to the issuer."""
        await self.tokens.uses.write()
        await self.sessions.uses.write()
        if self.oidc_users is not None:
            await self.oidc_users.issuer.close()


def _flow(one: OidcSettings, client_id: str, url: str, users: OidcUsers) -> OidcFlow:
    secret = read_token(one.client_secret_file, "client_secret_file in WEFT_OIDC")
    expected = Expected(one.issuer, (client_id,), tuple(one.algorithms), one.skew, one.lifetime)
    return OidcFlow(users.issuer, expected, url, client_id, secret, one.scope)
