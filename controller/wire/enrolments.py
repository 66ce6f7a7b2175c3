"""Enrolment: an agent trades a one-time token for a credential. `POST /api/v1/enrolments` -> 201."""

from typing import Literal

from controller.wire.model import Message


class EnrolmentRequest(Message):
    """`token` is the one-time token, bound to `cloudlet`; both must match."""

    token: str
    cloudlet: str
    agent_version: str


class Enrolment(Message):
    """`credential` is the bearer token of every later call under `/api/v1/agent`; it is shown this once. `pending`
    means that an operator has to approve the cloudlet before it gets any desired state other than an empty one."""

    cloudlet: str
    credential: str
    state: Literal["pending", "active"]
