"""One attempt to send a message to a receiver. Redirects are not followed, the answer's body is not kept, and nothing
that the receiver does takes longer than PATIENCE."""

import asyncio
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache

import httpx

from controller.core.clock import now
from controller.core.names import printable
from controller.core.webhooks import Outcome, wanted
from controller.wire.release import release

PATIENCE = 10.0
"""Seconds that an attempt may take."""

READ = 4096
"""Bytes of an answer's body that are read. After a longer one the connection is closed."""

REASON = 300
"""Characters of the reason why an attempt failed."""


def trust(root: str | None) -> ssl.SSLContext:
    """Return a context that trusts the authorities in a PEM text, or those of this machine. Raises ValueError."""
    if root is None:
        return _of_machine()
    if "PRIVATE KEY" in root:
        raise ValueError("this contains a private key; an authority's certificate is enough")
    try:
        return ssl.create_default_context(cadata=root)
    except (ssl.SSLError, UnicodeError, ValueError):
        raise ValueError("this is not a certificate in PEM") from None


@cache
def _of_machine() -> ssl.SSLContext:
    return ssl.create_default_context()


class Post:
    """A connection to a receiver, which is kept alive between messages."""

    def __init__(self, url: str, root: str | None) -> None:
        self._url = url
        self._client = httpx.AsyncClient(
            verify=trust(root),
            headers={"User-Agent": f"weft-controller/{release()}", "Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=1),
            timeout=PATIENCE,
            follow_redirects=False,
            trust_env=False,
        )

    async def send(self, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """Make an attempt, and return its outcome."""
        started = time.monotonic()
        answer, reason = None, ""
        try:
            async with (
                asyncio.timeout(PATIENCE),
                self._client.stream("POST", self._url, content=body, headers=dict(headers)) as answer,
            ):
                await _skim(answer)
        except TimeoutError:
            reason = f"no answer within {PATIENCE:.0f} s"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = printable(str(error), REASON) or type(error).__name__
        milliseconds = round((time.monotonic() - started) * 1000)
        if answer is None:
            return Outcome(None, milliseconds, reason)
        status = answer.status_code
        if 200 <= status < 300:
            return Outcome(status, milliseconds)
        reason = f"the receiver answered {status}" + (", and redirects are not followed" if answer.is_redirect else "")
        return Outcome(status, milliseconds, reason, wanted(answer.headers.get("Retry-After"), now()))

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()


async def _skim(answer: httpx.Response) -> None:
    """Read a short body, so that the connection can be used again."""
    read = 0
    with suppress(httpx.HTTPError):
        async for chunk in answer.aiter_raw():
            read += len(chunk)
            if read > READ:
                return
