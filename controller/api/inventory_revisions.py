"""Revisions of the inventory: all that were applied, the difference between two, and going back to one."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from controller.api import pages
from controller.api.access import Calling, Operator, Running
from controller.api.based_on import etag
from controller.api.changes import ConfirmWithin, DryRun
from controller.api.etags import ETAG, IfMatch
from controller.api.inventory import AppliedInventory, TokenSeconds, parsed, put_in_force
from controller.api.inventory_applying import Application, Terms
from controller.api.openapi import errors
from controller.api.pages import Page
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
from controller.changes.inventory_steps import InventorySteps
from controller.db.inventories import INVENTORIES

router = APIRouter(prefix="/api/v1/inventory", tags=["inventory"], dependencies=[Operator])


class InventoryRevision(AppliedRevision):
    """An inventory as it was applied, and by whom. `in_force`: it is the present one; `withdrawn_at`: its change was
    rolled back. `summary` lists its steps."""

    summary: InventorySteps | None


class InventoryRevisionText(InventoryRevision):
    """A revision with its text, word for word."""

    text: str


@router.get("/revisions", responses=errors(), summary="List what was applied")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[InventoryRevision]:
    """Return revisions, the latest first."""
    rows, latest = await listed(region.database, INVENTORIES, limit, cursor)
    return pages.page(rows, limit, lambda row: row.id, lambda row: InventoryRevision(**shown(row, latest)))


@router.get("/revisions/{revision}", responses=errors(404) | {200: {"headers": ETAG}}, summary="Show a revision")
async def show(revision: Number, region: Running, response: Response) -> InventoryRevisionText:
    """Return a revision with its text and its steps."""
    async with region.database.read() as session:
        row = await row_of(session, INVENTORIES, revision)
        latest = await INVENTORIES.latest(session)
    response.headers["ETag"] = etag(row)
    return InventoryRevisionText(**shown(row, latest), text=row.text)


@router.get("/diff", responses=errors(404), summary="Compare two revisions")
async def diff(region: Running, before: Before, after: After = None) -> RevisionDifference:
    """Return the difference between two revisions."""
    return await difference(region.database, INVENTORIES, before, after)


@router.post("/rollback", responses=errors(404, 409, 412), summary="Apply an earlier revision anew")
async def rollback(
    region: Running,
    caller: Calling,
    revision: Annotated[
        int | None, Query(ge=1, le=MOST, description="By default `back_to` of the inventory in force.")
    ] = None,
    allow_disconnect: AllowDisconnect = False,
    token_seconds: TokenSeconds = 3600,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    if_match: IfMatch = None,
) -> AppliedInventory:
    """Apply an earlier revision as a new revision, with the same checks: the region may have changed since. `If-Match`
    is the entity tag of the inventory to go back from: if another has come into force since, the answer is 412."""
    async with region.database.read() as session:
        row, base = await to_go_back_to(session, INVENTORIES, "inventory", revision, if_match)
    terms = Terms(allow_disconnect, None, base, row.id, caller.name, confirm_within, token_seconds)
    application = Application(region, await parsed(row.text, row.filename), row.text, terms)
    return await put_in_force(application, region, f"roll the inventory back to revision {row.id}", dry_run=dry_run)
