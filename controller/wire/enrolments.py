"""Enrolment: an agent trades a one-time token for a credential. `POST /api/v1/enrolments` -> 201."""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.certificates import Certified, Csr
from controller.wire.fields import Name, Version
from controller.wire.model import Message

Credential = Annotated[str, Field(pattern="^[0-9A-Za-z_-]{43,128}$")]
"""256 random bits or more."""


class EnrolmentRequest(Message):
    """`token` is the one-time token, bound to `cloudlet`; both must match. `csr` is for the first certificate.
    `credential` is what the agent wants to be known by, of its own making: who asks with the same one, and for the same
    key, asks again because the answer was lost, and gets it once more. Without it the controller makes one."""

    token: Annotated[str, Field(max_length=200)]
    cloudlet: Name
    agent_version: Version
    csr: Csr | None = None
    credential: Credential | None = None


class Enrolment(Message):
    """`credential` is the bearer token of every later call under `/api/v1/agent`; it is shown this once. `pending`
    means that an operator has to approve the cloudlet before it gets any desired state other than an empty one, or a
    certificate. `certified` is there if the request had a CSR and there is somebody to issue."""

    cloudlet: str
    credential: str
    state: Literal["pending", "active"]
    certified: Certified | None = None
