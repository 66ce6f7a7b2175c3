"""Enrolment: an agent trades a one-time token for a credential. `POST /api/v1/enrolments` -> 201."""

from typing import Literal

from controller.wire.certificates import Certified, Csr
from controller.wire.model import Message


class EnrolmentRequest(Message):
    """`token` is the one-time token, bound to `cloudlet`; both must match. `csr` is for the first certificate."""

    token: str
    cloudlet: str
    agent_version: str
    csr: Csr | None = None


class Enrolment(Message):
    """`credential` is the bearer token of every later call under `/api/v1/agent`; it is shown this once. `pending`
    means that an operator has to approve the cloudlet before it gets any desired state other than an empty one, or a
    certificate. `certified` is there if the request had a CSR and there is somebody to issue."""

    cloudlet: str
    credential: str
    state: Literal["pending", "active"]
    certified: Certified | None = None
