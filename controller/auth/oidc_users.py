"""Users whom an OpenID Connect issuer authenticates, in addition to the holders of API tokens."""

from typing import Self

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
        self.issuer, self._expected, self._mapped = issuer, expected, mapped

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
        header = jwt.header(token, self._expected.algorithms)
        key = await self.issuer.key(header.kid)
        return core.caller(jwt.claims(token, header, key, self._expected), self._mapped)
