"""The interface of an authority, which issues certificates: the controller's own, or one elsewhere."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol


class Reason(StrEnum):
    """Why a certificate was revoked (RFC 5280, section 5.3.1)."""

    COMPROMISED = "keyCompromise"
    SUPERSEDED = "superseded"
    CEASED = "cessationOfOperation"


@dataclass(frozen=True)
class Issued:
    """A certificate as it was issued: `serial` is 40 hexadecimal digits, `fingerprint` the SHA-256 of its DER form in
    hexadecimal, `certificate` its PEM."""

    serial: str
    not_before: datetime
    not_after: datetime
    fingerprint: str
    certificate: str


@dataclass(frozen=True)
class Revoked:
    """A certificate that is on the revocation list."""

    serial: str
    at: datetime
    reason: Reason


class AuthorityAway(Exception):  # noqa: N818 - a condition that passes
    """The authority cannot issue anything now; the message is one sentence for the operator."""


class Authority(Protocol):
    """Issues certificates. The caller has checked each request (`requests.check`) and knows that its sender is
    genuine."""

    @property
    def chain(self) -> str:
        """The certificates that lead from a cloudlet's certificate to the root: the intermediate and the root, PEM."""

    @property
    def authorities(self) -> str:
        """The trusted certificates, PEM: the chain, and while keys are rotated, also those of the next and the former
        authority."""

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the root (in DER form), in hexadecimal, which join tokens carry."""

    @property
    def not_after(self) -> datetime:
        """The time by which the authority has to be renewed."""

    async def issue(self, csr: str, cloudlet: str, vtep: str, lifetime: timedelta) -> Issued:
        """Issue a certificate for the key of a request (PKCS #10, PEM), with this name and address, whatever else the
        request contains. Raises AuthorityAway."""

    async def issue_own(self, csr: str, lifetime: timedelta) -> Issued:
        """Issue a certificate for the controller itself, as the server that agents connect to. Raises AuthorityAway."""

    def look(self) -> bool:
        """Take over changes that an operator has made. Returns whether there were any."""

    async def crl(self, revoked: Iterable[Revoked]) -> str:
        """Return the revocation list (RFC 5280, section 5), PEM; one for each authority that has issued. The controller
        keeps the record of revocations and passes all of them each time, so that nothing is lost while an authority is
        away. Raises AuthorityAway."""
