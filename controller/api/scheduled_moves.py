"""Moves that begin at a time."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import PastVmFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, Moment, Name, NamePath, Text
from controller.db import scheduled_moves as table
from controller.db.scheduled_moves import ScheduledMoveRow, State

router = APIRouter(prefix="/api/v1/moves/scheduled", tags=["moves"], dependencies=[Operator])

EXAMPLE: JsonDict = {"vm": "v1", "endpoint": "c2-lan", "at": "2030-01-31T18:00:00Z"}


class NewScheduledMove(Body):
    """A move of a VM to an endpoint that is to begin `at` a time within a year. `keep`: the VM keeps its address.
    `copied_before`: memory and disk are copied there so many seconds before."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    vm: Name
    endpoint: Name
    at: Moment
    keep: bool = False
    copied_before: Annotated[int, Field(ge=0, le=table.MOST_BEFORE)] = 0
    reason: Text = ""


class ScheduledMove(BaseModel):
    """A scheduled move. `state`: `waiting` for its time, or, for 15 minutes, because the VM cannot move yet (`detail`
    says why); `begun` as `move`; `refused`, as the VM could not move; `missed`, as no controller ran at that time;
    `cancelled`. `copy_ahead` is the copy ahead of it, empty if there could be none; `asked_by` is `policy` for moves of
    `migration.schedule`."""

    name: str
    vm: str
    endpoint: str
    at: datetime
    keep: bool
    copied_before: int
    reason: str
    asked_by: str
    state: State
    detail: str
    move: str | None
    copy_ahead: str | None
    created_at: datetime


@router.post("", status_code=201, responses=errors(409), summary="Schedule a move")
async def create(body: NewScheduledMove, region: Running) -> ScheduledMove:
    """Schedule a move. Whether the VM can move there is found out when it begins."""
    row = await region.migration.schedule.add(
        body.vm,
        body.endpoint,
        body.at,
        keep=body.keep,
        copied_before=body.copied_before,
        reason=body.reason,
        asked_by="operator",
    )
    return _shown(row)


@router.get("", responses=errors(), summary="List scheduled moves")
async def index(
    region: Running,
    vm: PastVmFilter = None,
    state: Annotated[list[State] | None, Query(max_length=5)] = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[ScheduledMove]:
    """Return scheduled moves in the order of their times, also the next ones of the policy's schedule; with `state`,
    those in any of these states."""
    after = pages.after_moment(cursor)
    async with region.database.read() as session:
        rows = await table.page(session, after, limit + 1, vm, state or ())
    return pages.page(rows, limit, lambda row: f"{row.at.isoformat()} {row.name}", _shown)


@router.delete("/{name}", responses=errors(404, 409), summary="Cancel a scheduled move")
async def cancel(name: NamePath, region: Running) -> ScheduledMove:
    """Cancel a move that has not begun. Of the policy's schedule, this cancels this one time."""
    return _shown(await region.migration.schedule.cancel(name))


def _shown(row: ScheduledMoveRow) -> ScheduledMove:
    return ScheduledMove(**{name: getattr(row, name) for name in ScheduledMove.model_fields})
