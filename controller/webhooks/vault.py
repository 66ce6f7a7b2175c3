"""The secrets of receivers, which the database has in encrypted form only."""

from collections.abc import Sequence

from controller.core.refusals import conflict
from controller.core.webhook_secrets import Secret, read, written
from controller.trust.sealing import Seal, Unsealable

SETTING = "WEFT_WEBHOOK_KEY_FILE"


class Locked(Exception):  # noqa: N818 - it says what is
    """The secrets cannot be read; the message says why."""


class Vault:
    """Encrypts with a key derived from `secret`, the content of WEFT_WEBHOOK_KEY_FILE; None where it is not set."""

    def __init__(self, secret: bytes | None) -> None:
        self._seal = Seal(secret, "webhooks") if secret is not None else None

    def close(self, webhook: str, secrets: Sequence[Secret]) -> str:
        """Return a receiver's secrets in the form in which they are stored. Raises Refused."""
        if self._seal is None:
            raise conflict(f"{SETTING} is not set: the secrets of webhooks are encrypted with what is in that file")
        return self._seal.close(written(secrets), webhook)

    def open(self, webhook: str, sealed: str) -> list[Secret]:
        """Return a receiver's secrets. Raises Locked."""
        if self._seal is None:
            raise Locked(f"its secret cannot be read: {SETTING} is not set")
        try:
            return read(self._seal.open(sealed, webhook))
        except Unsealable:
            raise Locked(f"its secret cannot be read: {SETTING} has another content than before") from None
