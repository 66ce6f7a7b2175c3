"""The TLS with which browsers are served: the operator's own certificate and key, read again when the files change.

Every handshake has the newest context, and existing connections keep theirs, so a renewal ends no connection."""

import asyncio
import logging
import ssl
from pathlib import Path

from controller.settings import BadSettings

log = logging.getLogger(__name__)

LOOK = 5.0
"""Seconds between two looks at the files."""

State = tuple[tuple[int, int, int], ...]
"""The time, size and number of each file."""


class CertificateFiles:
    """`context` is the context to serve with, always the same object. Raises BadSettings if the files cannot be
    used."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate, self._key = certificate, key
        self._state = self._look()
        self._newest = self._load()
        self.context = _base()
        self.context.sni_callback = self._choose

    async def run(self) -> None:
        """Follow the files, until cancelled. Files that do not fit are left alone until they do: somebody may be
        writing them."""
        said = ""
        while True:
            await asyncio.sleep(LOOK)
            try:
                self.renew()
                said = ""
            except BadSettings as error:
                if said != (said := str(error)):
                    log.error("the certificate before stays in use: %s", error)

    def renew(self) -> None:
        """Read the files, if they have changed. Raises BadSettings."""
        if (state := self._look()) != self._state:
            self._newest, self._state = self._load(), state
            log.warning("the web UI is served with the new certificate of %s", self._certificate)

    def _look(self) -> State:
        return tuple(_stat(name, path) for name, path in self._named())

    def _named(self) -> tuple[tuple[str, Path], ...]:
        return ("WEFT_UI_CERTIFICATE", self._certificate), ("WEFT_UI_KEY", self._key)

    def _load(self) -> ssl.SSLContext:
        context = _base()
        try:
            context.load_cert_chain(self._certificate, self._key, password=_none)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            reason = (getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)).lower()
            raise BadSettings(
                f"WEFT_UI_CERTIFICATE, WEFT_UI_KEY: {self._certificate} and {self._key} are not a PEM chain and its "
                f"key without a password: {reason.replace('_', ' ')}"
            ) from None
        return context

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._newest


def _base() -> ssl.SSLContext:
    """Return a context with the settings that a connection keeps from the context it begins with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _stat(name: str, path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise BadSettings(f"{name}: cannot read {path}: {error.strerror}") from None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _none() -> str:
    raise ValueError("the key has a password")
