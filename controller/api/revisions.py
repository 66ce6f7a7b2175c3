"""Revisions of the policy: all that were applied, the difference between two, and going back to one."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import pages
from controller.api.access import Calling, Operator, Running
from controller.api.applying import Application, Terms, etag
from controller.api.changes import ConfirmWithin, DryRun
from controller.api.etags import ETAG, IfMatch
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.policy import AllowDisconnect, AppliedPolicy, CountConsented, HoldBack, Strict, parsed, put_in_force
from controller.changes.outcomes import PolicySteps
from controller.core.refusals import conflict, missing
from controller.core.unified_diff import unified
from controller.db import policies as table
from controller.db.policies import PolicyRow

router = APIRouter(prefix="/api/v1/policy", tags=["policy"], dependencies=[Operator])

MOST = 2**31 - 1
Number = Annotated[int, Path(ge=1, le=MOST, description="A revision of the policy.")]


class Revision(BaseModel):
    """A policy as it was applied, and by whom. `in_force`: it is the present policy; `withdrawn_at`: its change was
    rolled back. `summary` lists its changes; it and `applied_by` are null for revisions of releases that did not store
    them."""

    revision: int
    filename: str
    generation: int
    applied_at: datetime
    applied_by: str | None
    note: str
    withdrawn_at: datetime | None
    in_force: bool
    summary: PolicySteps | None


class RevisionText(Revision):
    """A revision with its text, word for word."""

    text: str


class RevisionDifference(BaseModel):
    """The difference between two revisions, in the form of `diff -u`; empty if the texts are the same."""

    before: int
    after: int
    diff: str


@router.get("/revisions", responses=errors(), summary="List what was applied")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Revision]:
    """Return revisions, the latest first."""
    below = pages.after_number(cursor) if cursor is not None else None
    async with region.database.read() as session:
        rows = await table.page(session, below, limit + 1)
        latest = await table.latest(session)
    return pages.page(rows, limit, lambda row: row.id, lambda row: Revision(**_shown(row, latest)))


@router.get("/revisions/{revision}", responses=errors(404) | {200: {"headers": ETAG}}, summary="Show a revision")
async def show(revision: Number, region: Running, response: Response) -> RevisionText:
    """Return a revision with its text and its changes."""
    async with region.database.read() as session:
        row = await _row(session, revision)
        latest = await table.latest(session)
    response.headers["ETag"] = etag(row)
    return RevisionText(**_shown(row, latest), text=row.text)


@router.get("/diff", responses=errors(404), summary="Compare two revisions")
async def diff(
    region: Running,
    before: Annotated[int, Query(ge=1, le=MOST)],
    after: Annotated[int | None, Query(ge=1, le=MOST, description="By default the one in force.")] = None,
) -> RevisionDifference:
    """Return the difference between two revisions."""
    async with region.database.read() as session:
        one = await _row(session, before)
        other = await table.latest(session) if after is None else await _row(session, after)
    number, text = (other.id, other.text) if other else (0, "")
    diff = unified(one.text, text, f"revision {before}", f"revision {number}")
    return RevisionDifference(before=before, after=number, diff=diff)


@router.post("/rollback", responses=errors(404, 409, 412), summary="Apply an earlier revision anew")
async def rollback(
    region: Running,
    caller: Calling,
    revision: Annotated[
        int | None, Query(ge=1, le=MOST, description="By default `back_to` of the policy in force.")
    ] = None,
    strict: Strict = False,
    allow_disconnect: AllowDisconnect = False,
    hold_back: HoldBack = False,
    count_consented: CountConsented = False,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    if_match: IfMatch = None,
) -> AppliedPolicy:
    """Apply an earlier revision as a new revision, with the same checks: the region may have changed since. `If-Match`
    is the entity tag of the policy to go back from: if another policy has come into force since, the answer is 412."""
    async with region.database.read() as session:
        latest = await table.latest(session)
        if revision is not None:
            row: PolicyRow | None = await _row(session, revision)
        else:
            row = await table.previous(session, latest) if latest else None
            if_match = if_match or etag(latest)  # from another policy, the rollback would go to another revision
    if row is None:
        raise conflict("no other policy was in force before: there is nothing to go back to")
    terms = Terms(strict, allow_disconnect, None, if_match, row.id, hold_back, count_consented, caller.name)
    application = Application(region.changes.flow, await parsed(row.text, row.filename), row.text, terms)
    cause = f"roll the policy back to revision {row.id}"
    return await put_in_force(application, region, cause, confirm_within, dry_run=dry_run)


async def _row(session: AsyncSession, revision: int) -> PolicyRow:
    row = await table.get(session, revision)
    if row is None:
        raise missing("revision", str(revision))
    return row


def _shown(row: PolicyRow, latest: PolicyRow | None) -> dict[str, Any]:
    fields = ("filename", "generation", "applied_at", "applied_by", "note", "withdrawn_at", "summary")
    return {name: getattr(row, name) for name in fields} | {
        "revision": row.id,
        "in_force": latest is not None and latest.id == row.id,
    }
