"""Certificates: an agent requests one when half of its certificate's lifetime is over, or when it has none. `POST
/api/v1/agent/certificate` -> 200; 404 if the controller issues none, 409 while the cloudlet waits for approval."""

from typing import Annotated

from pydantic import Field

from controller.wire.model import Message

CONTROLLER = "controller.weft.internal"
"""The name in a controller's certificate, whatever the controller's address. Cloudlet names have no dot."""

Csr = Annotated[str, Field(max_length=4096, description="A certificate request (PKCS #10) in PEM.")]


class CertificateRequest(Message):
    """A certificate request. The controller uses only its key and its name, which must be the cloudlet's."""

    csr: Csr


class Certified(Message):
    """An issued certificate: `certificate` is the cloudlet's, `chain` the intermediate and the root above it; PEM."""

    certificate: str
    chain: str


class Authorities(Message):
    """The trusted roots and the authorities that they have certified, PEM. `GET /api/v1/enrolments/authorities` is open
    to all. On first contact, an agent compares the SHA-256 of a root (in DER form) with the one in its token."""

    authorities: str


class Revocations(Message):
    """The revocation list (RFC 5280, section 5), PEM. The stream of the desired state carries it as the event
    `revocations`, at its beginning and after each revocation."""

    crl: str
