"""The TLS with which agents are served: version 1.3, the controller's own certificate, which is renewed before it ends,
and clients' certificates, which must come from the same root if they are shown.

Every handshake has the newest context, and existing connections keep theirs, so a change of the context ends no
connection."""

import asyncio
import logging
import os
import ssl
from collections.abc import Callable
from datetime import timedelta

from controller.trust import x509
from controller.trust.authority import Authority, AuthorityAway
from controller.wire.certificates import CONTROLLER

log = logging.getLogger(__name__)

RETRY = 10.0
"""Seconds after which an authority that is away is asked again."""

NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME: `controller/identity/credential_proofs.py` refuses an expired certificate, with a
message."""


class Listener:
    """`context` is the context to serve with, always the same object. `refused` gets the reason when a handshake
    fails."""

    def __init__(self, authority: Authority, lifetime: timedelta, refused: Callable[[str], None]) -> None:
        self._authority, self._lifetime = authority, lifetime
        self._checked = type("Checked", (_Checked,), {"refused": staticmethod(refused)})
        self._newest: ssl.SSLContext | None = None
        self.context = self._base()
        self.context.sni_callback = self._choose

    async def run(self) -> None:
        """Renew the certificate at half of its lifetime, until cancelled."""
        while True:
            try:
                await self.renew()
                pause = self._lifetime.total_seconds() / 2
            except AuthorityAway as away:
                log.error("agents cannot be served over TLS: %s", away)
                pause = RETRY
            await asyncio.sleep(pause)

    async def renew(self) -> None:
        """Make a new key and get a certificate for it. Raises AuthorityAway."""
        key = x509.new_key()
        issued = await self._authority.issue_own(x509.request(key, CONTROLLER), self._lifetime)
        context = self._base()
        context.load_verify_locations(cadata=self._authority.authorities)
        _identify(context, x509.key_pem(key), issued.certificate + self._authority.chain)
        self._newest = context
        log.info("serving agents with a certificate good until %s", f"{issued.not_after:%Y-%m-%dT%H:%M:%SZ}")

    def _base(self) -> ssl.SSLContext:
        """Return a context with the settings that a connection keeps from the context it begins with."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_OPTIONAL  # an agent that enrols has none
        context.verify_flags |= ssl.VerifyFlags(NO_CHECK_TIME)
        context.num_tickets = 0  # no resumption: each connection is verified anew
        context.sslobject_class = self._checked
        return context

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> int | None:
        if self._newest is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._newest
        return None


class _Checked(ssl.SSLObject):
    """Reports failed handshakes, which asyncio does not do."""

    refused: Callable[[str], None]

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except ssl.SSLCertVerificationError as error:
            self.refused(f"its certificate is not from this region's authority: {error.verify_message}")
            raise
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            self.refused((error.reason or str(error)).lower().replace("_", " "))
            raise


def _identify(context: ssl.SSLContext, key: str, chain: str) -> None:
    """Load a key and its certificates into a context. The library reads files only, so the text goes into a file in
    memory."""
    file = os.memfd_create("identity", os.MFD_CLOEXEC)
    try:
        os.write(file, (key + chain).encode())
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
