"""A small issuer of OpenID Connect, over HTTP on loopback: discovery, signing keys, the device grant (RFC 8628), and
the code flow with PKCE (RFC 7636)."""

import base64
import hashlib
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as new_ec
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as new_rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.unit.controller.fake_routeserver import serving

RSA, EC, FOREIGN = new_rsa(65537, 2048), new_ec(SECP256R1()), new_rsa(65537, 2048)


def jwk(key: Any, kid: str | None, **more: Any) -> dict[str, Any]:
    kind = RSAAlgorithm if hasattr(key, "private_numbers") and hasattr(key, "decrypt") else ECAlgorithm
    found: dict[str, Any] = json.loads(kind.to_jwk(key.public_key()))
    return found | ({} if kid is None else {"kid": kid}) | more


async def _form(request: Request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode()))


class OidcIssuer:
    """An issuer. `keys` are its published keys; `asked` counts the requests for them. `approved` codes get tokens with
    `claims`; `codes` are those of browsers that have signed in, with the query of
    each; `nonce` and `audience` are said instead of the right ones."""

    def __init__(self) -> None:
        self.url = ""
        self.keys = [jwk(RSA, "one"), jwk(EC, "two")]
        self.asked, self.down, self.says = 0, False, ""
        self.claims: dict[str, Any] = {"sub": "u-1", "groups": ["ops"]}
        self.seconds = 300.0
        self.words = ["authorization_pending", "slow_down"]
        self.refreshing: set[str] = set()
        self.forms: list[dict[str, str]] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.nonce: str | None = None
        self.audience: str | None = None
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._configuration),
                Route("/keys", self._keys),
                Route("/device", self._device, methods=["POST"]),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/revoke", self._revoke, methods=["POST"]),
            ]
        )

    def token(self, key: Any = RSA, kid: str | None = "one", alg: str = "RS256", /, **claims: Any) -> str:
        """Return a signed token; a claim that is None is left out. `headers` adds header fields."""
        now = time.time()
        headers = ({} if kid is None else {"kid": kid}) | claims.pop("headers", {})
        said = {
            "iss": self.url,
            "aud": "weft",
            "iat": int(now),
            "exp": int(now + self.seconds),
            **self.claims,
            **claims,
        }
        return jwt.encode({k: v for k, v in said.items() if v is not None}, key, alg, headers)

    async def _configuration(self, _: Request) -> Response:
        if self.down:
            return Response(status_code=500)
        paths = {"jwks_uri": "keys", "device_authorization_endpoint": "device", "token_endpoint": "token"}
        paths["authorization_endpoint"] = "authorize"
        where = {name: f"{self.url}/{path}" for name, path in (paths | {"revocation_endpoint": "revoke"}).items()}
        return JSONResponse({"issuer": self.says or self.url, **where})

    async def _keys(self, _: Request) -> Response:
        self.asked += 1
        return JSONResponse({"keys": self.keys})

    async def _device(self, request: Request) -> Response:
        self.forms.append(await _form(request))
        where = f"{self.url}/activate"
        said = {"device_code": "d-1", "user_code": "WEFT-1234", "verification_uri": where}
        return JSONResponse(said | {"interval": 0.01, "expires_in": 60})

    async def _authorize(self, request: Request) -> Response:
        """Sign the user of the browser in at once, and send the browser back with a code."""
        asked = dict(request.query_params)
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}", 303)

    def _of_code(self, form: dict[str, str]) -> Response:
        asked = self.codes.pop(form["code"], None)
        proof = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=")
        if asked is None or asked["code_challenge"] != proof.decode() or asked["redirect_uri"] != form["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        token = self.token(aud=self.audience or asked["client_id"], nonce=self.nonce or asked["nonce"])
        return JSONResponse({"access_token": "opaque", "id_token": token, "token_type": "Bearer", "expires_in": 60})

    async def _token(self, request: Request) -> Response:
        form = await _form(request)
        self.forms.append(form)
        if form["grant_type"] == "authorization_code":
            return self._of_code(form)
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refreshing:
                return JSONResponse({"error": "invalid_grant"}, 400)
            self.refreshing.discard(form["refresh_token"])
        elif self.words:
            return JSONResponse({"error": self.words.pop(0)}, 400)
        fresh = f"r-{len(self.forms)}"
        self.refreshing.add(fresh)
        given = {"access_token": "opaque", "id_token": self.token(), "refresh_token": fresh}
        return JSONResponse(given | {"expires_in": self.seconds, "token_type": "Bearer"})

    async def _revoke(self, request: Request) -> Response:
        self.refreshing.discard((await _form(request))["token"])
        return Response()


@asynccontextmanager
async def issuing() -> AsyncIterator[OidcIssuer]:
    """Yield a running issuer."""
    issuer = OidcIssuer()
    async with serving(issuer.app) as issuer.url:
        yield issuer
