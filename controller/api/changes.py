"""Changes: every generation with its cause, and the confirmation or rollback of changes on trial."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.changes.outcomes import ChangeResult
from controller.core.refusals import missing
from controller.db import generations as table
from controller.db.generations import ChangeState, GenerationRow

router = APIRouter(prefix="/api/v1/changes", tags=["changes"], dependencies=[Operator])

DryRun = Annotated[bool, Query(description="Ask the route servers what would be sent; change nothing.")]
OnlyShow = Annotated[bool, Query(description="Show the result; change nothing.")]
ConfirmWithin = Annotated[
    int | None,
    Query(ge=1, le=86_400, description="Seconds on trial: unless it is confirmed in time, it is rolled back."),
]
REHEARSAL: dict[int | str, Any] = {200: {"model": ChangeResult, "description": "With `dry_run`: what would be sent."}}
Number = Annotated[int, Path(ge=0, le=2**31 - 1, description="The generation that the change made.")]


class Change(BaseModel):
    """A change. `state`: made (never on trial), on-trial (until `confirm_by` at most), confirmed, rolled-back
    (`settled_at`)."""

    generation: int
    at: datetime
    cause: str
    state: ChangeState
    confirm_by: datetime | None
    settled_at: datetime | None


@router.get("", responses=errors(), summary="List changes")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Change]:
    """Return changes, the latest first."""
    before = pages.after_number(cursor) if cursor is not None else None
    async with region.database.read() as session:
        rows = await table.page(session, before, limit + 1)
    return pages.page(rows, limit, lambda row: row.number, _shown)


@router.get("/{generation}", responses=errors(404), summary="Show a change")
async def show(generation: Number, region: Running) -> Change:
    """Return a change and its outcome."""
    async with region.database.read() as session:
        row = await table.get(session, generation)
    if row is None:
        raise missing("change", str(generation))
    return _shown(row)


@router.post("/{generation}/confirm", responses=errors(404, 409), summary="Confirm a change")
async def confirm(generation: Number, region: Running) -> ChangeResult:
    """Keep a change on trial. `unreachable` names the route servers that could not be told: a route server that does
    not learn of the confirmation before its own timer ends rolls the change back until it is reachable again."""
    return await region.changes.flow.confirm(generation)


@router.post("/{generation}/rollback", responses=errors(404, 409), summary="Roll a change back")
async def rollback(generation: Number, region: Running) -> ChangeResult:
    """Roll a change on trial back at once, before its time ends."""
    return await region.changes.flow.roll_back(generation, "an operator asked for it")


def _shown(row: GenerationRow) -> Change:
    return Change(
        generation=row.number,
        at=row.at,
        cause=row.cause,
        state=ChangeState(row.state),
        confirm_by=row.confirm_by,
        settled_at=row.settled_at,
    )
