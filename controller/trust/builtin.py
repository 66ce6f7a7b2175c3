"""The authority that is part of the controller: an intermediate on its disk, below a root whose key is elsewhere."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from controller.core.clock import now
from controller.settings import BadSettings
from controller.trust import x509
from controller.trust.authority import AuthorityAway, Issued, Revoked
from controller.trust.ceremony import FORMER, INTERMEDIATE, NEXT, ROOT

log = logging.getLogger(__name__)

LIST_LIFETIME = timedelta(days=1)
"""How long a revocation list is valid."""

BACKDATED = timedelta(minutes=5)
"""The most by which a certificate's validity begins before its issue, because cloudlets' clocks differ. It is also no
more than a tenth of the lifetime."""


@dataclass(frozen=True)
class _Held:
    """An intermediate with its key, and the root above it."""

    signer: x509.Signer
    root: x509.Certificate

    @property
    def chain(self) -> str:
        return x509.pem(self.signer.certificate, self.root)


class BuiltIn:
    """Signs with the intermediate of a directory (`ceremony`), and revocation lists also with the former one while it
    is there."""

    def __init__(self, directory: Path, present: _Held, beside: Mapping[str, _Held]) -> None:
        self._directory, self._present, self._beside = directory, present, beside

    @classmethod
    def read(cls, directory: Path) -> "BuiltIn":
        """Return the authority of a directory. Raises BadSettings."""
        return cls(directory, *_read_all(directory))

    def look(self) -> bool:
        """Take over changes in the directory. If it cannot be used, the authority stays as it was read before."""
        try:
            held = _read_all(self._directory)
        except BadSettings as error:
            log.warning("the authority stays as it was: %s", error)
            return False
        if held == (self._present, self._beside):
            return False
        self._present, self._beside = held
        log.warning("the authority is another: %s", x509.common_name(self._present.signer.certificate))
        return True

    @property
    def _signer(self) -> x509.Signer:
        return self._present.signer

    @property
    def chain(self) -> str:
        """The intermediate and the root, PEM."""
        return self._present.chain

    @property
    def authorities(self) -> str:
        """The certificates of `chain`, followed by those of the next and the former authority."""
        return "".join(dict.fromkeys(x509.blocks("".join(h.chain for h in (self._present, *self._beside.values())))))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the root of `chain`."""
        return x509.digest(self._present.root)

    @property
    def not_after(self) -> datetime:
        """The time at which the intermediate expires."""
        return self._signer.certificate.not_valid_after_utc

    async def issue(self, csr: str, cloudlet: str, vtep: str, lifetime: timedelta) -> Issued:
        """Issue a cloudlet's certificate, which ends with the intermediate at the latest."""
        return x509.leaf(self._signer, x509.read_request(csr), cloudlet, vtep, *self._times(lifetime))

    async def issue_own(self, csr: str, lifetime: timedelta) -> Issued:
        """Issue the controller's certificate, which ends with the intermediate at the latest."""
        return x509.own(self._signer, x509.read_request(csr), *self._times(lifetime))

    def _times(self, lifetime: timedelta) -> tuple[datetime, datetime]:
        at = now()
        self._check(at)
        return at - min(BACKDATED, lifetime / 10), min(at + lifetime, self.not_after)

    async def crl(self, revoked: Iterable[Revoked]) -> str:
        """Return the revocation lists, made anew each time."""
        at = now()
        self._check(at)
        entries = list(revoked)
        signers = [self._signer] + [held.signer for name, held in self._beside.items() if name == FORMER]
        return "".join(x509.crl(signer, entries, at, LIST_LIFETIME) for signer in signers)

    def _check(self, at: datetime) -> None:
        if at >= self.not_after:
            expired = f"{self.not_after:%Y-%m-%dT%H:%M:%SZ}"
            raise AuthorityAway(f"The authority expired at {expired}; `weft-controller ca renew` renews it.")


def _read_all(directory: Path) -> tuple[_Held, dict[str, _Held]]:
    beside = {name: _read(directory / name) for name in (NEXT, FORMER) if (directory / name).exists()}
    return _read(directory), beside


def _read(directory: Path) -> _Held:
    try:
        if (directory / INTERMEDIATE).stat().st_mode & 0o077:
            raise BadSettings(f"WEFT_AUTHORITY: {directory / INTERMEDIATE} has a key in it, and others may read it")
        text, root = (directory / INTERMEDIATE).read_text(), (directory / ROOT).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        hint = f"`weft-controller ca init {directory}` makes an authority"
        raise BadSettings(f"WEFT_AUTHORITY: cannot read {directory}: {reason}; {hint}") from None
    try:
        signer, top = x509.read_signer(text, text), x509.read_certificate(root)
    except x509.Unreadable as error:
        raise BadSettings(f"WEFT_AUTHORITY: {directory}: {error}") from None
    if not x509.issued_by(signer.certificate, top):
        raise BadSettings(f"WEFT_AUTHORITY: {directory / INTERMEDIATE} is not issued by {directory / ROOT}")
    return _Held(signer, top)
