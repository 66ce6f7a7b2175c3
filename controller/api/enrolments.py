"""Enrolment: an agent trades its one-time token for a credential."""

from fastapi import APIRouter
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api.access import Running
from controller.api.openapi import errors
from controller.core import edits, tokens
from controller.core.intent import Intent, State
from controller.core.trials import OnTrial
from controller.db import cloudlets as table
from controller.db import events
from controller.db.base import now
from controller.db.cloudlets import CloudletRow
from controller.problems import FieldError, Problem
from controller.wire.enrolments import Enrolment, EnrolmentRequest

router = APIRouter(prefix="/api/v1/enrolments", tags=["agents"])


@router.post("", status_code=201, responses=errors(409, 503), summary="Enrol an agent")
async def enrol(body: EnrolmentRequest, region: Running) -> Enrolment:
    """The token is good once, for its time, and for the cloudlet it was made for. Of a token that is none of these no
    more is said than that it is not valid; whoever has a real one is told what is wrong with it."""
    async with region.database.read() as session:
        row = await table.get(session, body.cloudlet) if body.cloudlet.isprintable() else None
    _check(row, body.token)
    assert row is not None
    credential = tokens.new_secret()
    waits = row.approval and row.state in (State.INVITED, State.PENDING)
    state = State.PENDING if waits else State.ACTIVE

    def edit(intent: Intent) -> Intent:
        present = intent.cloudlets.get(row.name)
        kept = present.state if present and present.speaks else state
        return edits.set_state(intent, row.name, kept, credential=tokens.digest(credential))

    async def also(session: AsyncSession, _intent: Intent) -> None:
        used = await session.execute(
            update(CloudletRow)
            .where(CloudletRow.name == row.name, CloudletRow.token == row.token, CloudletRow.token_used_at.is_(None))
            .values(token_used_at=now(), agent_version=body.agent_version[:64])
        )
        if used.rowcount != 1:  # type: ignore[attr-defined]
            raise _refused("the token was used meanwhile")
        await events.add(session, "cloudlet-enrolled", row.name, f"the agent of {row.name} enrolled: {state}")

    try:
        await region.changes.make(edit, f"enrol {row.name}", also)
    except OnTrial as trial:  # agents try again after a 503, and give up after a 409
        raise Problem(503, trial.message, headers={"Retry-After": "10"}) from trial
    return Enrolment(cloudlet=row.name, credential=credential, state="pending" if waits else "active")


def _check(row: CloudletRow | None, token: str) -> None:
    if row is None or not tokens.matches(token, row.token):
        raise _refused("the token is not valid for this cloudlet")
    if row.token_used_at is not None:
        raise _refused(f"the token was used at {row.token_used_at:%Y-%m-%dT%H:%M:%SZ}")
    if row.token_expires_at is None or row.token_expires_at <= now():
        raise _refused(f"the token expired at {row.token_expires_at:%Y-%m-%dT%H:%M:%SZ}")


def _refused(message: str) -> Problem:
    return Problem(403, f"Enrolment refused: {message}.", [FieldError(field="token", message=message)])
