"""Enrolment: an agent exchanges its one-time token for a credential."""

import logging

from fastapi import APIRouter, Request
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api.access import Running, shown
from controller.api.openapi import errors
from controller.auth.audit_context import let_in
from controller.core import edits, tokens
from controller.core.clock import now
from controller.core.intent import CloudletState, Intent
from controller.core.names import printable
from controller.core.refusals import missing
from controller.core.trials import OnTrial
from controller.db import cloudlets as table
from controller.db import events
from controller.db.cloudlets import CloudletRow
from controller.identity.certificates import end
from controller.region import Region
from controller.runtime.problems import FieldError, Problem
from controller.trust.authority import AuthorityAway, Issued, Reason
from controller.trust.requests import check
from controller.trust.x509 import fingerprint_of
from controller.wire.certificates import Authorities, Certified
from controller.wire.enrolments import Enrolment, EnrolmentRequest

log = logging.getLogger(__name__)

router = APIRouter(prefix="/api/v1/enrolments", tags=["agents"])


class Used(Exception):  # noqa: N818 - an answer
    """The token was used before."""


@router.post(
    "", status_code=201, responses=errors(409, 503), response_model_exclude_none=True, summary="Enrol an agent"
)
async def enrol(body: EnrolmentRequest, request: Request, region: Running) -> Enrolment:
    """Enrol an agent. The token is valid once, until it expires, and only for its cloudlet. The answer to a wrong token
    says only that it is not valid; the answer to a right one gives the reason for a refusal. Over TLS the credential is
    valid only together with certificates for the key of the request. An agent that lost the answer repeats the request
    with the same credential and key, and gets the answer again, without a certificate."""
    tls = shown(request) is not None
    if region.identity.proofs.tls_only and not tls:
        raise Problem(403, "Enrolment refused: agents are served over TLS only.")
    async with region.database.read() as session:
        row = await table.get(session, body.cloudlet) if body.cloudlet.isprintable() else None
    row = _known(row, tokens.secret(body.token))
    if body.csr is not None:
        check(body.csr, row.name)  # before the token is used
    key = fingerprint_of(body.csr) if tls and body.csr is not None else None
    waits = row.approval and row.state in (CloudletState.INVITED, CloudletState.PENDING)
    state = CloudletState.PENDING if waits else CloudletState.ACTIVE
    credential = body.credential or tokens.new_secret()
    answer = Enrolment(cloudlet=row.name, credential=credential, state="pending" if waits else "active")
    if row.token_used_at is not None:
        return _again(row, answer, key)
    issued = None if body.csr is None or waits else await _issued(region, body.csr, row)
    certified: Certified | None = None
    ended = False

    def edit(intent: Intent) -> Intent:
        present = intent.cloudlets.get(row.name)
        kept = present.state if present and present.state in (CloudletState.ACTIVE, CloudletState.DRAINING) else state
        return edits.enrol(intent, row.name, kept, tokens.digest(credential), key)

    async def also(session: AsyncSession, _intent: Intent) -> None:
        used = await session.execute(
            update(CloudletRow)
            .where(CloudletRow.name == row.name, CloudletRow.token == row.token, CloudletRow.token_used_at.is_(None))
            .values(token_used_at=now(), agent_version=printable(body.agent_version, 64))
        )
        if used.rowcount != 1:  # type: ignore[attr-defined]
            raise Used
        nonlocal certified, ended
        ended = await end(session, row.name, Reason.SUPERSEDED)
        if issued is not None:
            certified = await region.identity.certificates.record(session, row.name, issued)
        await events.add(session, "cloudlet-enrolled", row.name, f"the agent of {row.name} enrolled: {state}")

    let_in(f"agent:{row.name}", 201)
    try:
        await region.changes.flow.make(edit, f"enrol {row.name}", also)
    except OnTrial as trial:  # agents try again after a 503, and give up after a 409
        raise Problem(503, trial.message, headers={"Retry-After": "10"}) from trial
    except Used:  # meanwhile, perhaps by this agent, which did not wait for the answer
        async with region.database.read() as session:
            present = await table.get(session, row.name)
        return _again(_known(present, tokens.secret(body.token)), answer, key)
    if ended:
        region.identity.revocations.changed()
    return answer.model_copy(update={"certified": certified})


@router.get("/authorities", responses=errors(404), summary="Show whom agents are to trust")
async def authorities(region: Running) -> Authorities:
    """Return the trusted authorities. Open to all: the holder of a token can check the answer by the token. 404: this
    controller issues no certificates."""
    if region.identity.certificates.authority is None:
        raise missing("authority", "certificates")
    return Authorities(authorities=region.identity.certificates.authority.authorities)


async def _issued(region: Region, csr: str, row: CloudletRow) -> Issued | None:
    """Return a certificate; None if this controller issues none, or cannot now: the agent then requests one again."""
    try:
        return await region.identity.certificates.sign(csr, row.name, row.vtep)
    except AuthorityAway as away:
        log.error("%s", away)
        return None


def _known(row: CloudletRow | None, token: str) -> CloudletRow:
    """Return the cloudlet that the token was made for, even if the token was used. Raises Problem."""
    if row is None or not tokens.matches(token, row.token):
        raise _refused("the token is not valid for this cloudlet")
    if row.token_used_at is None and (row.token_expires_at is None or row.token_expires_at <= now()):
        raise _refused(f"the token expired at {row.token_expires_at:%Y-%m-%dT%H:%M:%SZ}")
    return row


def _again(row: CloudletRow, answer: Enrolment, key: str | None) -> Enrolment:
    """Return the answer again if the token was used with this credential and key. Raises Problem otherwise."""
    if tokens.matches(answer.credential, row.credential) and key == row.key:
        return answer
    raise _refused(f"the token was used at {row.token_used_at:%Y-%m-%dT%H:%M:%SZ}")


def _refused(message: str) -> Problem:
    return Problem(403, f"Enrolment refused: {message}.", [FieldError(field="token", message=message)])
