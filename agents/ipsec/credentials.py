"""The credentials that enrolment writes to files: this cloudlet's key and certificates, and the revocation list."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from agents.identity.identity import AUTHORITIES, CERTIFICATE, CHAIN, CRL, KEY
from agents.identity.x509 import Unfit, revoked

_KEY = re.compile(rb"-----BEGIN (EC |RSA )?PRIVATE KEY-----")


class CredentialsError(Exception):
    """A file is missing or is not what it should be. The text names it."""


@dataclass(frozen=True)
class Credentials:
    """The credentials in PEM: the private key, this cloudlet's certificate, and those of the authorities above it,
    which must also have issued the certificates of peers. `crl` is the revocation list, or several lists, if there is
    any."""

    key: bytes = field(repr=False)
    certificate: bytes
    authorities: tuple[bytes, ...]
    crl: bytes | None = None

    @property
    def lists(self) -> list[bytes]:
        """The revocation lists, one by one."""
        return _blocks(self.crl or b"", b"X509 CRL")

    @property
    def revoked(self) -> frozenset[int]:
        """The serial numbers on the revocation list. Raises CredentialsError."""
        try:
            return revoked(self.crl.decode(errors="replace")) if self.crl is not None else frozenset()
        except Unfit as error:
            raise CredentialsError(f"{CRL}: {error}") from None


def read(directory: Path) -> Credentials:
    """Return the credentials in the directory. The revocation list may be missing. Raises CredentialsError."""
    key = _content(directory / KEY)
    if not _KEY.search(key):
        raise CredentialsError(f"{directory / KEY}: no private key in it (PEM, not encrypted)")
    certificate, *above = _certificates(directory / CERTIFICATE)
    trusted = _certificates(directory / AUTHORITIES) if (directory / AUTHORITIES).exists() else []
    authorities = tuple(dict.fromkeys((*above, *_certificates(directory / CHAIN), *trusted)))
    crl = _content(directory / CRL) if (directory / CRL).exists() else None
    return Credentials(key, certificate, authorities, crl)


def _certificates(path: Path) -> list[bytes]:
    found = _blocks(_content(path), b"CERTIFICATE")
    if not found:
        raise CredentialsError(f"{path}: no certificate in it (PEM)")
    return found


def _blocks(pem: bytes, label: bytes) -> list[bytes]:
    """Return the blocks with a label, one by one (RFC 7468, section 2). A block without an end does not count, nor does
    anything after it."""
    begin, end = b"-----BEGIN %b-----" % label, b"-----END %b-----" % label
    found, at = [], 0
    while (start := pem.find(begin, at)) >= 0 and (stop := pem.find(end, start)) >= 0:
        at = stop + len(end)
        at += pem[at : at + 1] == b"\n"
        found.append(pem[start:at])
    return found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CredentialsError(f"{path}: {(error.strerror or str(error)).lower()}") from error
