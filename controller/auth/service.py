"""Callers of the API other than agents: holders of API tokens, and users of an OpenID Connect issuer."""

from typing import ClassVar

from controller.auth.oidc_users import OidcUsers
from controller.auth.tokens import Tokens
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service
from controller.settings import Settings, read_token


class AuthService(Service):
    """The authentication of callers. `admin_token` is None if the operator API is served on the unix socket only;
    `oidc_users` is None if no issuer is configured. Raises BadSettings."""

    name: ClassVar[str] = "auth"

    def __init__(self, settings: Settings, runtime: Runtime) -> None:
        self.admin_token = read_token(settings.admin_token_file, "WEFT_ADMIN_TOKEN_FILE")
        self.tokens = Tokens(runtime.database, runtime.wakeup)
        self.oidc_users = OidcUsers.of(settings.oidc) if settings.oidc else None

    async def close(self) -> None:
        """Close the connections to the issuer."""
        if self.oidc_users is not None:
            await self.oidc_users.issuer.close()
