"""Secrets that the database keeps and the controller must read again, so that a digest is not enough: encrypted and
bound to their place (AES-256-GCM, NIST SP 800-38D), with a key that is not in the database."""

import base64
import binascii
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE = 12
"""Bytes of the random number that each encryption uses once."""


class Unsealable(Exception):  # noqa: N818 - it says what is
    """The text was sealed with another key, or for another place, or was changed."""


class Seal:
    """Seals texts for one purpose with a key derived from a secret of the settings (HMAC-SHA-256 as a PRF)."""

    def __init__(self, secret: bytes, purpose: str) -> None:
        self._cipher = AESGCM(hmac.digest(secret, f"weft seal\0{purpose}".encode(), "sha256"))

    def close(self, text: str, place: str) -> str:
        """Return the text encrypted, as ASCII, for the place that stores it."""
        nonce = secrets.token_bytes(NONCE)
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, text.encode(), place.encode())).decode()

    def open(self, sealed: str, place: str) -> str:
        """Return the text that was sealed for this place. Raises Unsealable."""
        try:
            blob = base64.b64decode(sealed, validate=True)
            return self._cipher.decrypt(blob[:NONCE], blob[NONCE:], place.encode()).decode()
        except (binascii.Error, ValueError, InvalidTag):
            raise Unsealable("it was sealed with another key, or was changed") from None
