"""Enrolment: an agent exchanges a one-time token for a credential. `POST /api/v1/enrolments` -> 201."""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.certificates import Certified, Csr
from controller.wire.fields import Name, Version
from controller.wire.model import Message

Credential = Annotated[str, Field(pattern="^[0-9A-Za-z_-]{43,128}$")]
"""256 random bits or more."""


class EnrolmentRequest(Message):
    """A request to enrol. `token` is the one-time token, bound to `cloudlet`; both must match. `csr` is for the first
    certificate. `credential` is one that the agent has generated. An agent that lost the answer repeats the request
    with the same credential and key, and gets the answer again. Without `credential` the controller generates one."""

    token: Annotated[str, Field(max_length=200)]
    cloudlet: Name
    agent_version: Version
    csr: Csr | None = None
    credential: Credential | None = None


class Enrolment(Message):
    """The answer to an enrolment. `credential` is the bearer token of every later call under `/api/v1/agent`; it is
    shown only once. `pending` means that an operator has to approve the cloudlet before it gets a certificate, or any
    desired state other than an empty one. `certified` is present if the request had a CSR and the controller issues
    certificates."""

    cloudlet: str
    credential: str
    state: Literal["pending", "active"]
    certified: Certified | None = None
