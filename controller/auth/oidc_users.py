"""Users whom an OpenID Connect issuer authenticates, in addition to the holders of API tokens."""

from typing import Any, Self

from controller.auth import jwt
from controller.auth.oidc_issuer import Issuer
from controller.core import oidc_users as core
from controller.core.oidc_users import Mapped
from controller.core.roles import Caller
from controller.settings import OidcSettings


class OidcUsers:
    """Authenticates users by their tokens. Asks the issuer only for its keys: the claims of a token hold until it
    expires."""

    def __init__(self, issuer: Issuer, expected: jwt.Expected, mapped: Mapped) -> None:
        self.issuer, self.expected, self.mapped = issuer, expected, mapped

    @classmethod
    def of(cls, settings: OidcSettings) -> Self:
        """Return the users of the configured issuer."""
        one = settings
        expected = jwt.Expected(one.issuer, tuple(one.audience), tuple(one.algorithms), one.skew, one.lifetime)
        return cls(
            Issuer(one.issuer, one.keep), expected, Mapped(one.roles, one.role_claim, one.tenant_claim, one.name_claim)
        )

    async def caller(self, token: str) -> Caller:
        """Return the caller who comes with a token. Raises BadToken, NoRole and Unreachable."""
        return core.caller(await self.claims(token), self.mapped)

    async def claims(self, token: str) -> dict[str, Any]:
        """Return the claims of a token. Raises BadToken and Unreachable."""
        header = jwt.header(token, self.expected.algorithms)
        key = await self.issuer.key(header.kid)
        return jwt.claims(token, header, key, self.expected)
