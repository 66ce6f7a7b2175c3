"""The client of an OpenID Connect issuer: finds the URL of its keys (Discovery 1.0, section 4) and reads them. The
number and the content of incoming tokens never make it ask more often than `FRESH` and `PACE` allow."""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import Any

import httpx

from controller.auth import jwt
from controller.core.oidc_users import trusted

log = logging.getLogger(__name__)

FRESH = 300.0
"""Seconds after which the keys are read again. A key that the issuer has withdrawn stays valid for as long."""

PACE = 5.0
"""Minimum seconds between two attempts when a token names an unknown key."""

LARGEST = 256 * 1024
"""Maximum bytes of an answer."""

TIMEOUT = 3.0

Key = Mapping[str, Any]


class Unreachable(Exception):  # noqa: N818 - a condition that passes
    """The issuer's keys are unknown, or were read too long ago."""


class Issuer:
    """The keys of one issuer. `keep`: seconds that known keys stay valid while the issuer does not answer."""

    def __init__(self, url: str, keep: float) -> None:
        self.url = url
        self._keep = keep
        self._keys: dict[str | None, Key] = {}
        self._configuration: dict[str, Any] = {}
        self._got = self._tried = float("-inf")
        self._asking: asyncio.Task[None] | None = None
        self._http = httpx.AsyncClient(timeout=TIMEOUT, trust_env=False, follow_redirects=False)

    async def key(self, kid: str | None) -> Key:
        """Return the key with this `kid`, or the only key if a token has no `kid`. Waits for the issuer only if the key
        is unknown. Raises BadToken and Unreachable."""
        self._ask(FRESH if self._find(kid) else PACE)
        if self._find(kid) is None and self._asking is not None:
            await asyncio.shield(self._asking)
        if time.monotonic() - self._got > self._keep:
            raise Unreachable(f"the issuer {self.url} does not answer, and its keys are not known (any longer)")
        if (found := self._find(kid)) is None:
            raise jwt.BadToken("the token's key is none of the issuer's")
        return found

    async def configuration(self) -> Mapping[str, Any]:
        """Return the issuer's description of itself; waits for it only if it is unknown. Raises Unreachable."""
        self._ask(FRESH if self._configuration else PACE)
        if not self._configuration and self._asking is not None:
            await asyncio.shield(self._asking)
        if not self._configuration:
            raise Unreachable(f"the issuer {self.url} does not answer")
        return self._configuration

    async def close(self) -> None:
        """Cancel a request under way and close the HTTP client."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        await self._http.aclose()

    def _find(self, kid: str | None) -> Key | None:
        if kid is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(kid)

    def _ask(self, pause: float) -> None:
        now = time.monotonic()
        if now - self._tried >= pause and (self._asking is None or self._asking.done()):
            self._tried = now
            self._asking = asyncio.create_task(self._refresh(), name="issuer")

    async def _refresh(self) -> None:
        try:
            configuration = await self._get(f"{self.url.rstrip('/')}/.well-known/openid-configuration")
            if configuration.get("issuer") != self.url:
                raise ValueError("it says that it is another issuer")
            where = str(configuration.get("jwks_uri"))
            if not trusted(where):
                raise ValueError("its keys are at no https URL")
            documents = (await self._get(where)).get("keys")
            if not isinstance(documents, list):
                raise ValueError("its keys are not a list")
            self._keys, self._got = jwt.keys(documents), time.monotonic()
            self._configuration = configuration
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            log.warning("the keys of %s: %s", self.url, str(error) or type(error).__name__)

    async def _get(self, url: str) -> dict[str, Any]:
        async with asyncio.timeout(2 * TIMEOUT), self._http.stream("GET", url) as answer:
            answer.raise_for_status()
            body = b""
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > LARGEST:
                    raise ValueError("it says too much")
        document = json.loads(body)
        if not isinstance(document, dict):
            raise ValueError("it does not answer with an object")
        return document
