"""Policy: check what a file says, see what is in force, put another in force."""

import asyncio
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api.access import Operator, Running
from controller.api.changes import ConfirmWithin, DryRun
from controller.api.openapi import errors
from controller.core import policies
from controller.core.intent import Intent
from controller.core.policy import Plan, Policy, parse
from controller.db import events
from controller.db import policies as table
from controller.outcomes import ChangeResult
from controller.problems import Problem

router = APIRouter(prefix="/api/v1/policy", tags=["policy"], dependencies=[Operator])

MEDIA_TYPES = ("application/yaml", "application/x-yaml", "text/yaml", "text/plain")
FileName = Annotated[str, Query(max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$", description="For messages only.")]
EXAMPLE = "apiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan, c2-lan]\n"
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {MEDIA_TYPES[0]: {"schema": {"type": "string"}, "examples": {"pool": {"value": EXAMPLE}}}},
    }
}


class Membership(BaseModel):
    """An endpoint that joins or leaves a pool."""

    vcp: str
    endpoint: str


class Steps(BaseModel):
    """What a policy changes. Pools in `create` are made, those in `delete` removed with their members; `adopt` names
    pools made over REST that come under the policy, `describe` those whose description changes."""

    create: list[str]
    adopt: list[str]
    describe: list[str]
    delete: list[str]
    join: list[Membership]
    leave: list[Membership]


class Checked(BaseModel):
    """A policy without errors, and what it would change."""

    ok: bool = True
    plan: Steps


class Applied(ChangeResult):
    """A policy in force, and what it changed."""

    plan: Steps


class InForce(BaseModel):
    """The policy that was applied last; empty before the first."""

    filename: str | None
    text: str
    generation: int | None
    applied_at: datetime | None


@router.get("", responses=errors(), summary="Show the policy in force")
async def show(region: Running) -> InForce:
    """As it was applied, word for word."""
    async with region.database.read() as session:
        row = await table.latest(session)
    if row is None:
        return InForce(filename=None, text="", generation=None, applied_at=None)
    return InForce(filename=row.filename, text=row.text, generation=row.generation, applied_at=row.applied_at)


@router.post("/check", responses=errors(415), openapi_extra=BODY, summary="Check a policy")
async def check(request: Request, region: Running, filename: FileName = "policy.yaml") -> Checked:
    """Says what it would change; changes nothing. Errors name file, line and column."""
    policy = await _parsed(await _text(request), filename)
    return Checked(plan=_steps(policies.apply(region.intent, policy).plan))


@router.post("/apply", responses=errors(409, 415), openapi_extra=BODY, summary="Apply a policy")
async def apply(
    request: Request,
    region: Running,
    filename: FileName = "policy.yaml",
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
) -> Applied:
    """All of it in one change, or nothing. Answers when it is in force, as a join does."""
    text = await _text(request)
    policy = await _parsed(text, filename)
    done: list[Plan] = []

    def edit(intent: Intent) -> Intent:
        result = policies.apply(intent, policy)
        done.append(result.plan)
        return result.intent

    async def also(session: AsyncSession, intent: Intent) -> None:
        table.add(session, filename, text, intent.generation)
        await events.add(session, "policy-applied", filename, f"policy {filename} at generation {intent.generation}")

    result = await region.changes.apply(edit, f"apply policy {filename}", also, within=confirm_within, dry_run=dry_run)
    return Applied(**result.model_dump(), plan=_steps(done[-1]))


async def _text(request: Request) -> str:
    media_type = request.headers.get("content-type", MEDIA_TYPES[0]).partition(";")[0].strip().lower()
    if media_type not in MEDIA_TYPES:
        raise Problem(415, f"A policy is {MEDIA_TYPES[0]}, not {media_type}.")
    try:
        return (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise Problem(400, f"The body is not UTF-8: byte {error.start}.") from None


async def _parsed(text: str, filename: str) -> Policy:
    """Away from the event loop: a large hostile file may take seconds."""
    return await asyncio.to_thread(parse, text, filename)


def _steps(plan: Plan) -> Steps:
    return Steps(
        create=[vcp.name for vcp in plan.create],
        adopt=list(plan.adopt),
        describe=[name for name, _ in plan.describe],
        delete=list(plan.delete),
        join=[Membership(vcp=vcp, endpoint=endpoint) for vcp, endpoint in plan.join],
        leave=[Membership(vcp=vcp, endpoint=endpoint) for vcp, endpoint in plan.leave],
    )
