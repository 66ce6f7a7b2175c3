"""Revisions of the policy: all that were applied, the difference between two, and going back to one."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from controller.api import pages
from controller.api.access import Calling, Operator, Running
from controller.api.applying import Application, Terms
from controller.api.based_on import etag
from controller.api.changes import ConfirmWithin, DryRun
from controller.api.etags import ETAG, IfMatch
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.policy import AppliedPolicy, CountConsented, HoldBack, Strict, parsed, put_in_force
from controller.api.revisions import (
    MOST,
    After,
    AppliedRevision,
    Before,
    Number,
    RevisionDifference,
    difference,
    listed,
    row_of,
    shown,
    to_go_back_to,
)
from controller.api.texts import AllowDisconnect
from controller.changes.outcomes import PolicySteps
from controller.db.policies import POLICIES

router = APIRouter(prefix="/api/v1/policy", tags=["policy"], dependencies=[Operator])


class Revision(AppliedRevision):
    """A policy as it was applied, and by whom. `in_force`: it is the present policy; `withdrawn_at`: its change was
    rolled back. `summary` lists its changes; it and `applied_by` are null for revisions of releases that did not store
    them."""

    summary: PolicySteps | None


class RevisionText(Revision):
    """A revision with its text, word for word."""

    text: str


@router.get("/revisions", responses=errors(), summary="List what was applied")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Revision]:
    """Return revisions, the latest first."""
    rows, latest = await listed(region.database, POLICIES, limit, cursor)
    return pages.page(rows, limit, lambda row: row.id, lambda row: Revision(**shown(row, latest)))


@router.get("/revisions/{revision}", responses=errors(404) | {200: {"headers": ETAG}}, summary="Show a revision")
async def show(revision: Number, region: Running, response: Response) -> RevisionText:
    """Return a revision with its text and its changes."""
    async with region.database.read() as session:
        row = await row_of(session, POLICIES, revision)
        latest = await POLICIES.latest(session)
    response.headers["ETag"] = etag(row)
    return RevisionText(**shown(row, latest), text=row.text)


@router.get("/diff", responses=errors(404), summary="Compare two revisions")
async def diff(region: Running, before: Before, after: After = None) -> RevisionDifference:
    """Return the difference between two revisions."""
    return await difference(region.database, POLICIES, before, after)


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
        row, base = await to_go_back_to(session, POLICIES, "policy", revision, if_match)
    terms = Terms(strict, allow_disconnect, None, base, row.id, hold_back, count_consented, caller.name)
    application = Application(region.changes.flow, await parsed(row.text, row.filename), row.text, terms)
    cause = f"roll the policy back to revision {row.id}"
    return await put_in_force(application, region, cause, confirm_within, dry_run=dry_run)
