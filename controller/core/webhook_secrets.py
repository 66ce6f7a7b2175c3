"""The secrets that a receiver of webhooks and the controller share, in the form of Standard Webhooks: `whsec_` and 24
to 64 bytes in base64. While one replaces another, both sign for a time. Pure."""

import base64
import binascii
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

PREFIX = "whsec_"
FEWEST, MOST = 24, 64
"""Bytes of a secret."""

MOST_SECRETS = 4
"""Most secrets that sign at the same time."""


@dataclass(frozen=True)
class Secret:
    """A secret, and the time until which it signs; None for the current one."""

    text: str
    until: datetime | None = None

    def __repr__(self) -> str:
        return f"Secret(until={self.until})"


def fresh() -> str:
    """Return a new random secret of 256 bits."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def objection(text: str) -> str | None:
    """Return why a text is no secret, without repeating it; None if it is one."""
    if not text.startswith(PREFIX):
        return f"a secret begins with {PREFIX}"
    try:
        size = len(base64.b64decode(text.removeprefix(PREFIX), validate=True))
    except (binascii.Error, ValueError):
        return f"{PREFIX} is followed by base64"
    return None if FEWEST <= size <= MOST else f"a secret has {FEWEST} to {MOST} bytes in base64; this one has {size}"


def in_force(known: Sequence[Secret], at: datetime) -> list[str]:
    """Return the secrets that sign at a time, the current one first."""
    return [secret.text for secret in known if secret.until is None or at < secret.until]


def replaced(known: Sequence[Secret], text: str, at: datetime, until: datetime) -> list[Secret]:
    """Return the secrets after a new one replaces the current one, which signs until `until` as well."""
    former = [secret for secret in known if secret.until is None or at < secret.until]
    kept = [
        Secret(one.text, until if one.until is None else min(one.until, until)) for one in former if one.text != text
    ]
    return [Secret(text), *(secret for secret in kept if secret.until is not None and at < secret.until)][:MOST_SECRETS]


def written(known: Sequence[Secret]) -> str:
    """Return the secrets as one text, to be sealed."""
    return json.dumps([[secret.text, secret.until.isoformat() if secret.until else None] for secret in known])


def read(text: str) -> list[Secret]:
    """Return the secrets of a text that `written` made."""
    return [Secret(word, datetime.fromisoformat(until) if until else None) for word, until in json.loads(text)]
