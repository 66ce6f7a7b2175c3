"""People whom an issuer of OpenID Connect lets in, beside the holders of API tokens."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from controller import jose
from controller.core import people as core
from controller.core.people import Mapped
from controller.core.roles import Caller, Role
from controller.issuer import Issuer, trusted

Text = Annotated[str, Field(min_length=1, max_length=200)]


class OidcSettings(BaseModel):
    """WEFT_OIDC, as JSON. `audience`: a token is to be for one of these. `roles`: role by what the claim `role_claim`
    has. Times in seconds: `skew` is how far clocks may be apart, `lifetime` how long a token is good at most after its
    issue, `keep` how long known keys go on while the issuer does not answer."""

    model_config = ConfigDict(extra="forbid")

    issuer: str
    audience: Annotated[list[Text], Field(min_length=1)]
    roles: Annotated[dict[str, Role], Field(min_length=1)]
    role_claim: Text = "groups"
    tenant_claim: Text = "tenant"
    name_claim: Text = "sub"
    algorithms: Annotated[list[str], Field(min_length=1)] = ["RS256", "PS256", "ES256", "EdDSA"]
    skew: Annotated[float, Field(ge=0, le=300)] = 30.0
    lifetime: Annotated[float, Field(ge=1, le=86400)] = 3600.0
    keep: Annotated[float, Field(ge=0, le=86400)] = 3600.0

    @field_validator("issuer")
    @classmethod
    def _is_trusted(cls, value: str) -> str:
        if not trusted(value):
            raise ValueError("an issuer is an https URL, or on this machine")
        return value

    @field_validator("algorithms")
    @classmethod
    def _are_asymmetric(cls, value: list[str]) -> list[str]:
        for name in value:
            if name not in jose.ALGORITHMS:
                raise ValueError(f"{name!r} is none of {', '.join(jose.ALGORITHMS)}")
        return value


class People:
    """Asks the issuer for its keys, and nobody for anything else: what a token says is so until it ends."""

    def __init__(self, issuer: Issuer, expected: jose.Expected, mapped: Mapped) -> None:
        self.issuer, self._expected, self._mapped = issuer, expected, mapped

    @classmethod
    def of(cls, settings: OidcSettings) -> Self:
        """As they are configured."""
        one = settings
        expected = jose.Expected(one.issuer, tuple(one.audience), tuple(one.algorithms), one.skew, one.lifetime)
        return cls(
            Issuer(one.issuer, one.keep), expected, Mapped(one.roles, one.role_claim, one.tenant_claim, one.name_claim)
        )

    async def caller(self, token: str) -> Caller:
        """Who comes with a token. Raises BadToken, NoRole and Unreachable."""
        header = jose.header(token, self._expected.algorithms)
        key = await self.issuer.key(header.kid)
        return core.caller(jose.claims(token, header, key, self._expected), self._mapped)
