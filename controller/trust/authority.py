"""What issues certificates: the controller's own authority, or one elsewhere behind the same interface."""

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
    """Issues certificates for requests that were checked (`requests.check`) and are from who they say they are."""

    @property
    def chain(self) -> str:
        """What leads from a cloudlet's certificate to the root: the intermediate and the root, PEM."""

    @property
    def authorities(self) -> str:
        """Who is to be trusted, PEM: the chain, and while keys are rotated, those that come and those that go."""

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the root (in DER form), in hexadecimal: what join tokens carry."""

    @property
    def not_after(self) -> datetime:
        """When it has to be renewed by."""

    async def issue(self, csr: str, cloudlet: str, vtep: str, lifetime: timedelta) -> Issued:
        """A certificate for the key of a request (PKCS #10, PEM), and for this name and address whatever else the
        request says. Raises AuthorityAway."""

    async def issue_own(self, csr: str, lifetime: timedelta) -> Issued:
        """A certificate for the controller itself, as the server that agents speak to. Raises AuthorityAway."""

    def look(self) -> bool:
        """Takes over what an operator has changed meanwhile. Returns whether there was anything."""

    async def crl(self, revoked: Iterable[Revoked]) -> str:
        """The revocation list (RFC 5280, section 5), PEM; one of each authority that has issued. The controller keeps
        the record of what is revoked, and gives the whole of it each time: nothing is lost while an authority is away.
        Raises AuthorityAway."""
