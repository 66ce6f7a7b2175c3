"""The sign-in of a browser at an OpenID Connect issuer: the code flow (Core 1.0, section 3.1) with PKCE (RFC 7636). The
only module that imports Authlib.

The browser keeps the values of one sign-in in a cookie of its own, so any replica may see the sign-in through."""

import hmac
import logging
import secrets
import warnings
from dataclasses import dataclass
from typing import Any, Self

import httpx
from authlib.integrations.base_client.errors import OAuthError

from controller.auth import jwt
from controller.auth.oidc_issuer import TIMEOUT, Issuer, Unreachable
from controller.core.oidc_users import trusted

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it prefers httpx2, and works as well with httpx, which Weft has for all its calls
    from authlib.integrations.httpx_client import AsyncOAuth2Client

log = logging.getLogger(__name__)

CALLBACK = "/ui/oidc/callback"
"""The path to which the issuer sends the browser back. The issuer must know this URL."""


class NotSignedIn(Exception):  # noqa: N818 - an answer
    """The sign-in has failed. `code` is a word that the UI's pages have a sentence for: nothing of the issuer's own
    text reaches a page."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class SignIn:
    """One sign-in under way: random values that tie the issuer's answer to this browser (`state`), its token to this
    sign-in (`nonce`), and its code to this controller (`verifier`)."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> Self:
        """Return a sign-in with fresh values."""
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))

    @classmethod
    def read(cls, text: str | None) -> "SignIn | None":
        """Return the sign-in that `text` was written from; None if it is not one."""
        parts = (text or "").split(".")
        return cls(*parts) if len(parts) == 3 and all(len(part) == 43 for part in parts) else None

    def text(self) -> str:
        """Return the sign-in as text for a cookie."""
        return f"{self.state}.{self.nonce}.{self.verifier}"


class OidcFlow:
    """The controller as a client of the issuer. `url` is the UI's own URL, to which the issuer sends browsers back."""

    def __init__(
        self, issuer: Issuer, expected: jwt.Expected, url: str, client_id: str, secret: str | None, scope: str
    ) -> None:
        self._issuer, self._expected = issuer, expected
        self._options = {
            "client_id": client_id,
            "client_secret": secret,
            "scope": scope,
            "redirect_uri": f"{url.rstrip('/')}{CALLBACK}",
            "code_challenge_method": "S256",
            "timeout": TIMEOUT,
            "trust_env": False,
            "follow_redirects": False,
        }

    async def begin(self, sign_in: SignIn) -> str:
        """Return the issuer's URL at which the user signs in. Raises NotSignedIn."""
        where = await self._endpoint("authorization_endpoint")
        async with AsyncOAuth2Client(**self._options) as client:
            url, _ = client.create_authorization_url(
                where, state=sign_in.state, nonce=sign_in.nonce, code_verifier=sign_in.verifier
            )
        return str(url)

    async def finish(self, sign_in: SignIn | None, state: str | None, code: str | None) -> dict[str, Any]:
        """Return the claims of the user who comes back with a code. Raises NotSignedIn."""
        if sign_in is None or state is None or not hmac.compare_digest(sign_in.state.encode(), state.encode()):
            raise NotSignedIn("other-browser")
        if not code:
            raise NotSignedIn("refused")
        where = await self._endpoint("token_endpoint")
        try:
            async with AsyncOAuth2Client(**self._options) as client:
                answer = await client.fetch_token(where, code=code, code_verifier=sign_in.verifier)
            token = answer.get("id_token")
            if not isinstance(token, str):
                raise NotSignedIn("refused")
            header = jwt.header(token, self._expected.algorithms)
            claims = jwt.claims(token, header, await self._issuer.key(header.kid), self._expected)
        except (OAuthError, jwt.BadToken) as error:
            log.warning("the issuer %s signs nobody in: %s", self._issuer.url, error)
            raise NotSignedIn("refused") from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, Unreachable) as error:
            log.warning("the issuer %s: %s", self._issuer.url, str(error) or type(error).__name__)
            raise NotSignedIn("away") from None
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), sign_in.nonce.encode()):
            raise NotSignedIn("refused")
        return claims

    async def _endpoint(self, name: str) -> str:
        try:
            found = str((await self._issuer.configuration()).get(name, ""))
        except Unreachable as away:
            log.warning("%s", away)
            raise NotSignedIn("away") from None
        if not trusted(found):
            log.warning("the issuer %s has no %s with TLS", self._issuer.url, name)
            raise NotSignedIn("away")
        return found
