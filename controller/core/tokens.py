"""Secrets handed to agents: one-time enrolment tokens and credentials. Only their digests are stored.

Both carry 256 random bits, so a plain SHA-256 is enough: there is nothing to guess that a slow hash would protect.
"""

import hashlib
import hmac
import secrets


def new_secret() -> str:
    """A fresh secret, safe in URLs, headers and shells."""
    return secrets.token_urlsafe(32)


def pinned(secret: str, fingerprint: str) -> str:
    """A one-time token as it is shown: it also says whom to trust, by the SHA-256 of a root."""
    return f"{secret}.{fingerprint}"


def secret(token: str) -> str:
    """What is secret of a token, whether it says whom to trust or not."""
    return token.partition(".")[0]


def digest(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def matches(secret: str, stored: str | None) -> bool:
    """Whether `secret` is the one whose digest is `stored`, in constant time."""
    return hmac.compare_digest(digest(secret), stored or "")
