"""The client of an OpenID Connect issuer for `weft login`: device authorisation grant (RFC 8628), refresh, revocation.
Only this file, `client.py`, `retries.py` and `transport.py` import httpx."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from controller.cli.failures import Failure, WrongUsage

SCOPE = "openid offline_access"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
TIMEOUT = 10.0
SLOWER = 5.0
"""Seconds added between two requests if the issuer asks for that (RFC 8628, section 3.5)."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Code:
    """The code that a user types in, the page for it, and the device code for the requests meanwhile. `interval` and
    `expires_in` are in seconds."""

    device_code: str
    user_code: str
    verification_uri: str
    complete: str | None
    interval: float
    expires_in: float


class Issuer:
    """A conversation with an issuer as `client`, a public client. Raises Failure."""

    def __init__(self, url: str, client: str) -> None:
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise WrongUsage(f"{url!r} is not an issuer's URL: {error}") from None
        if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
            raise WrongUsage(f"{url!r} is not an issuer's URL: it begins with https://")
        self._client = client
        self._trust_env = parts.scheme == "https"
        self._said = self._call("GET", f"{url.rstrip('/')}/.well-known/openid-configuration", {})
        if self._said.get("issuer") != url:
            raise Failure(f"{url} says that it is the issuer {self._said.get('issuer')!r}")

    def begin(self) -> Code:
        """Request a code."""
        said = self._call("POST", self._where("device_authorization_endpoint"), {"scope": SCOPE})
        try:
            return Code(
                str(said["device_code"]),
                str(said["user_code"]),
                str(said["verification_uri"]),
                said.get("verification_uri_complete"),
                float(said.get("interval", SLOWER)),
                float(said["expires_in"]),
            )
        except (KeyError, TypeError, ValueError):
            raise Failure("the issuer's answer lacks the code to type in, or its page") from None

    def wait(self, code: Code) -> Json:
        """Ask until the user has agreed or refused, or the code expires. Returns the tokens."""
        interval, end = code.interval, time.monotonic() + code.expires_in
        for said in self._answers(code):
            match said.get("error"):
                case None:
                    return said
                case "authorization_pending":
                    pass
                case "slow_down":
                    interval += SLOWER
                case "access_denied":
                    raise Failure("the issuer was told not to let you in")
                case error:
                    raise Failure(f"the issuer does not let you in: {said.get('error_description') or error}")
            if time.monotonic() + interval > end:
                raise Failure("the code has expired, and was not typed in: run weft login again")
            time.sleep(interval)
        raise AssertionError

    def refresh(self, token: str) -> Json | None:
        """Return new tokens for a refresh token; None if it is no longer valid."""
        said = self._token({"grant_type": "refresh_token", "refresh_token": token})
        return None if "error" in said else said

    def revoke(self, token: str) -> None:
        """Revoke a refresh token (RFC 7009), if the issuer supports that."""
        if "revocation_endpoint" in self._said:
            self._call("POST", self._where("revocation_endpoint"), {"token": token, "token_type_hint": "refresh_token"})

    def _answers(self, code: Code) -> Iterator[Json]:
        while True:
            yield self._token({"grant_type": DEVICE, "device_code": code.device_code})

    def _token(self, form: Json) -> Json:
        return self._call("POST", self._where("token_endpoint"), form)

    def _where(self, name: str) -> str:
        where = self._said.get(name)
        if not isinstance(where, str) or not where.startswith(("https://", "http://127.0.0.1", "http://localhost")):
            raise Failure(f"the issuer has no {name.replace('_', ' ')}")
        return where

    def _call(self, method: str, url: str, form: Json) -> Json:
        """Return the issuer's answer; an error of OAuth (RFC 6749, section 5.2) is an answer too."""
        try:
            data = form | {"client_id": self._client} if method == "POST" else None
            with httpx.Client(timeout=TIMEOUT, trust_env=self._trust_env) as http:
                answer = http.request(method, url, data=data)
            said = answer.json() if answer.content else {}
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Failure(f"the issuer does not answer at {url}: {error}") from None
        except ValueError:
            said = None
        if not isinstance(said, dict) or (answer.is_error and "error" not in said):
            raise Failure(f"{url} answers with status {answer.status_code}, which no issuer does")
        return said
