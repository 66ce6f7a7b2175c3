"""The cloudlet's key and certificate on disk, and its renewal. Nothing secret is ever logged."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import random

from agents.backoff import Backoff
from agents.controller.client import Controller, ControllerAway, ControllerRefused
from agents.identity import lifetimes, x509
from agents.identity.tls import context
from agents.identity.x509 import Foreign, Unfit, Validity
from agents.storage.state import StateDirectory, StateError
from controller.wire.certificates import Authorities, CertificateRequest, Certified, Revocations

log = logging.getLogger(__name__)

_FIRST, _CAP = 1.0, 60.0  # seconds between attempts
_SOON = 30.0  # seconds within which a certificate of a new issuer is requested
_NONE_ISSUED = 600.0  # seconds after which a controller without an authority is asked again
_LOOK = 600.0  # seconds after which the clock is looked at again: it may have been set

KEY, CERTIFICATE, CHAIN, CRL = "key.pem", "certificate.pem", "chain.pem", "crl.pem"
AUTHORITIES = "authorities.pem"


class Identity:
    """The files in `directory`, which the group `readers` may read as well. Identity calls `changed` when others should
    look at them, or at `problem`, again. Raises StateError if the directory cannot be used."""

    def __init__(self, cloudlet: str, controller: Controller, directory: Path, readers: str | None = None) -> None:
        self._cloudlet, self._controller = cloudlet, controller
        self.changed: Callable[[], None] = lambda: None
        self._files, self._directory = StateDirectory(directory, cloudlet), directory
        self._files.open_to(readers)
        self._wake = asyncio.Event()
        self._list: Revocations | None = None
        self._reason = "no answer yet"
        self._soon: float | None = None  # when to ask ahead of time (seconds of the loop)
        self.validity = self._held()
        self._secure()

    @property
    def trusted(self) -> str | None:
        """The authorities that the controller's certificate, and all that it issues, have to come from, PEM."""
        return self._files.read(AUTHORITIES) or self._files.read(CHAIN)

    async def meet(self, fingerprint: str) -> None:
        """Trust the controller by the fingerprint of its root in the token; over HTTP this covers only the certificates
        that it issues. Raises ControllerAway and ControllerRefused, and Unfit if the host that answers has no such
        root."""
        self._files.write(AUTHORITIES, x509.pinned((await self._controller.authorities()).authorities, fingerprint))
        self._secure()

    @property
    def problem(self) -> str | None:
        """A sentence for the operator about the certificate, or None."""
        return lifetimes.trouble(self.validity, datetime.now(UTC), self._reason)

    def wake(self) -> None:
        """Ask for a certificate at once if there is none, because the controller has just answered."""
        if self.validity is None:
            self._wake.set()

    def request(self, *, again: bool = False) -> str:
        """Return a request for the first certificate, with a new key, or the same key `again`. Earlier certificates are
        removed, because they are useless now."""
        if self._controller.tls and (trusted := self.trusted) is not None:
            self._files.write(AUTHORITIES, trusted)
        for name in (CERTIFICATE, CHAIN, CRL):
            self._files.remove(name)
        self.validity = None
        if not again:
            self._files.write(KEY, x509.new_key())
        key = self._key()
        self._secure()
        return x509.request(key, self._cloudlet)

    def take(self, certified: Certified) -> None:
        """Keep the certificate that the controller has issued. Raises Unfit if it is not the requested one, and Foreign
        if it leads to a root that is not trusted; over HTTP there may be no trusted root, if the token named none."""
        validity = x509.check(self._key(), certified.certificate, certified.chain, self._cloudlet)
        trusted = self.trusted
        if (self._controller.tls or trusted) and not x509.roots(certified.chain) <= x509.roots(trusted or ""):
            raise Foreign("the chain leads to a root that is not trusted here")
        self._files.write(CHAIN, certified.chain)
        self._files.write(CERTIFICATE, certified.certificate)
        self.validity = validity
        self._look_at_issuer()
        self._secure()
        if self._list is not None:
            self.revoked(self._list)
        log.info("certified until %s", f"{validity.end:%Y-%m-%dT%H:%M:%SZ}")
        self.changed()

    def revoked(self, document: Revocations) -> None:
        """Keep the revocation list, if it is that of our own authority. Before there is a certificate, the list
        waits."""
        self._list = document
        try:
            if self._files.read(CHAIN) is not None and self._files.read(CRL) != document.crl:
                x509.check_lists(document.crl, self.trusted or "")
                self._files.write(CRL, document.crl)
                self.changed()
        except (Unfit, StateError) as error:
            log.error("the revocation list is not kept: %s", error)

    def trust(self, document: Authorities) -> None:
        """Keep the authorities to trust from now on, as the controller says. If the certificate has another issuer than
        the present one, ask for a new one soon, before the old one is not trusted any more."""
        try:
            x509.check_authorities(document.authorities)
            if self._files.read(AUTHORITIES) != document.authorities:
                self._files.write(AUTHORITIES, document.authorities)
                log.info("who is trusted has changed")
                self._secure()
                self.changed()
            self._look_at_issuer()
        except (Unfit, StateError) as error:
            log.error("who is to be trusted is not kept: %s", error)

    def _look_at_issuer(self) -> None:
        authorities, chain = self._files.read(AUTHORITIES), self._files.read(CHAIN)
        outdated = authorities is not None and chain is not None and x509.first(authorities) != x509.first(chain)
        if not outdated:
            self._soon = None
        elif self._soon is None:
            self._soon = asyncio.get_running_loop().time() + random() * _SOON
            self._wake.set()

    def _left(self, spread: float) -> float:
        """Return the seconds until it is time to ask for a certificate."""
        left = lifetimes.wait(self.validity, datetime.now(UTC), spread).total_seconds()
        return left if self._soon is None else min(left, max(self._soon - asyncio.get_running_loop().time(), 0.0))

    async def run(self) -> None:
        """Ask for a certificate when it is time, and again when that fails, until it is cancelled."""
        backoff, spread = Backoff(_FIRST, _CAP), random()
        while True:
            left = self._left(spread)
            if left > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, _LOOK)):
                        await self._wake.wait()
                self._wake.clear()
                continue
            pause = await self._renew()
            if pause is None:
                backoff, spread = Backoff(_FIRST, _CAP), random()
                if self.validity and self._left(spread):
                    continue
                self._reason, pause = "a new one is as old: this machine's clock is not the controller's", _CAP
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(pause, backoff.delay())):
                    await self._wake.wait()

    async def _renew(self) -> float | None:
        """Ask once. Return None on success, else the seconds that another attempt has to wait at least."""
        pause = 0.0
        try:
            csr = x509.request(self._key(), self._cloudlet)
            self.take(await self._controller.certificate(CertificateRequest(csr=csr)))
            return None
        except ControllerAway as away:
            reason = f"the controller is away: {away}"
        except ControllerRefused as refused:
            reason = f"the controller refused: {refused}"
            pause = _NONE_ISSUED if refused.status == 404 else 0.0
        except Unfit as unfit:
            reason = f"what the controller sent is of no use: {unfit}"
        except StateError as error:
            reason = str(error)
        if reason != self._reason:
            log.log(logging.INFO if pause else logging.WARNING, "no certificate: %s", reason)
        self._reason = reason
        self.changed()
        return pause

    def _secure(self) -> None:
        """Use the authorities and the certificate on disk for connections to the controller, if they use TLS."""
        if not self._controller.tls or (trusted := self.trusted) is None:
            return
        try:
            certificate = self._directory / CERTIFICATE if self.validity is not None else None
            self._controller.secure(context(trusted, certificate, self._directory / KEY))
        except Unfit as unfit:
            log.error("%s", unfit)

    def _key(self) -> str:
        """Return the key. Make a new one if there is none, or one that cannot be used."""
        key = self._files.read(KEY)
        if key is not None:
            with suppress(Unfit):
                x509.request(key, self._cloudlet)
                return key
        key = x509.new_key()
        self._files.write(KEY, key)
        return key

    def _held(self) -> Validity | None:
        """Return the validity of the certificate on disk, if all files are there and belong together, or None."""
        key, certificate, chain = (self._files.read(name) for name in (KEY, CERTIFICATE, CHAIN))
        if key is None or certificate is None or chain is None:
            return None
        try:
            return x509.check(key, certificate, chain, self._cloudlet)
        except Unfit as unfit:
            log.warning("the certificate on disk is of no use: %s", unfit)
            return None
