"""Certificates: an agent asks for one whenever half of the present one's life is over, and whenever it has none.
`POST /api/v1/agent/certificate` -> 200; 404 where the controller issues none, 409 while the cloudlet waits for
approval."""

from typing import Annotated

from pydantic import Field

from controller.wire.model import Message

CONTROLLER = "controller.weft.internal"
"""The name in a controller's certificate, whatever its address. No cloudlet's name has a dot in it."""

Csr = Annotated[str, Field(max_length=4096, description="A certificate request (PKCS #10) in PEM.")]


class CertificateRequest(Message):
    """Of the request only the key and the name count, and the name is the cloudlet's."""

    csr: Csr


class Certified(Message):
    """`certificate` is the cloudlet's, `chain` the intermediate and the root above it; PEM."""

    certificate: str
    chain: str


class Authorities(Message):
    """Who is trusted, PEM: roots, and what they have certified. `GET /api/v1/enrolments/authorities`, open to all: who
    asks for the first time compares the SHA-256 of a root (in DER form) with what its token says."""

    authorities: str


class Revocations(Message):
    """The revocation list (RFC 5280, section 5), PEM: on the stream of the desired state, as the event `revocations`,
    at its beginning and whenever a certificate was revoked."""

    crl: str
