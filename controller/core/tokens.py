"""Secrets for agents: one-time enrolment tokens and credentials. Only their digests are stored.

Both carry 256 random bits, so a plain SHA-256 is enough: they cannot be guessed, so a slow hash would add nothing."""

import hashlib
import hmac
import secrets


def new_secret() -> str:
    """Return a fresh secret, safe in URLs, headers and shells."""
    return secrets.token_urlsafe(32)


def pinned(secret: str, fingerprint: str) -> str:
    """Return a one-time token as it is shown: the secret, and the SHA-256 of the root certificate to trust."""
    return f"{secret}.{fingerprint}"


def secret(token: str) -> str:
    """Return the secret part of a token, with or without a fingerprint."""
    return token.partition(".")[0]


def digest(secret: str) -> str:
    """Return the digest that is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def matches(secret: str, stored: str | None) -> bool:
    """Return whether `secret` is the one whose digest is `stored`, in constant time."""
    return hmac.compare_digest(digest(secret), stored or "")
