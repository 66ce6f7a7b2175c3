"""Moves: VMs on their way from one cloudlet to another."""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from starlette.responses import JSONResponse, Response

from controller.api import pages, streams
from controller.api.access import Operator, Running, Still
from controller.api.names import PastCloudletFilter, PastVmFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, Name, NamePath, Text
from controller.core.saga import Phase, Step
from controller.core.unavailable import Unavailable
from controller.db import moves as table
from controller.db import names
from controller.db.moves import MoveRow, StepRow
from controller.region import Region
from controller.wire.moves import Figures

router = APIRouter(prefix="/api/v1/moves", tags=["moves"], dependencies=[Operator])

EXAMPLE: JsonDict = {"vm": "v1", "endpoint": "c2-lan"}


class NewMove(Body):
    """A move of a VM to an endpoint. `keep`: it keeps its address. `linger`: maximum seconds that the old address stays
    after the device has joined the new one, while connections use it; the policy's value if omitted."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    vm: Name
    endpoint: Name
    keep: bool = False
    linger: Annotated[float | None, Field(ge=0, le=86400)] = None
    reason: Text = ""


class NewCopy(Body):
    """A copy of a VM's memory and disk to an endpoint, ahead of a move."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    vm: Name
    endpoint: Name
    reason: Text = ""


class NewInitiation(Body):
    """A VM that starts anew at an endpoint. `linger` is the same as of a move."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    vm: Name
    endpoint: Name
    linger: Annotated[float | None, Field(ge=0, le=86400)] = None
    reason: Text = ""


class Move(BaseModel):
    """A move. `ahead`: it only copies, ahead of another one; the VM stays. `anew`: nothing is copied; the VM starts
    anew at `endpoint`, and its old machine is removed once nobody uses it. `state`: waiting (for its turn), moving,
    undoing, done, undone. `step` is its present step; after the end it is `normal`, or the cleanup that a cloudlet
    still has to do. `reason` says why the move did not end as intended. `at` is the endpoint where the VM is,
    `address` its present address. `figures` has the values of all copies, by step; `seconds` is the duration of the
    move."""

    name: str
    vm: str
    device: str
    source: str
    destination: str
    endpoint: str
    state: Phase
    step: Step
    reason: str
    asked_by: str
    keep: bool
    ahead: bool
    anew: bool
    at: str
    address: str
    new_address: str | None
    pool: str | None
    order: int
    seconds: float
    figures: dict[str, Figures]
    created_at: datetime
    changed_at: datetime
    ended_at: datetime | None


class MoveStep(BaseModel):
    """A step that was begun, or its undoing; `state` is running, done, failed, refused, skipped or given up."""

    step: str
    undoing: bool
    state: str
    detail: str
    figures: Figures
    began_at: datetime
    ended_at: datetime | None
    seconds: float | None


class MoveInFull(Move):
    """A move with all of its steps, in their order."""

    steps: list[MoveStep]


@router.post("", status_code=201, responses=errors(409), summary="Start a move")
async def create(body: NewMove, region: Running) -> Move:
    """Start a move. It waits for its turn: the policy limits how many moves use a link, and a cloudlet, at a time. The
    VM stays at its new place until its device settles at another one."""
    row = await region.migration.moves.start(
        body.vm, body.endpoint, keep=body.keep, linger=body.linger, asked_by="operator", reason=body.reason
    )
    return shown_as(row)


@router.post("/ahead", status_code=201, responses=errors(409), summary="Copy a VM ahead of a move")
async def prepare(body: NewCopy, region: Running) -> Move:
    """Copy a VM's memory and disk to where it may move later, over a thin line. Both ends keep the copies for the
    policy's `migration.keep_seconds`: a move there in that time copies only what has changed. The VM runs on where it
    is. A copy waits for its turn as a move does, and ends when the VM is to move."""
    row = await region.migration.moves.prepare(body.vm, body.endpoint, asked_by="operator", reason=body.reason)
    return shown_as(row)


@router.post("/initiation", status_code=201, responses=errors(409), summary="Start a VM anew elsewhere")
async def initiate(body: NewInitiation, region: Running) -> Move:
    """Start a VM anew, from its image, at another cloudlet. Once its service answers there (the VM's `check`), the VM
    has its new address; its old machine ends with the last connection, or when its time is over, and everything in it
    is lost. Refused if the VM cannot start there."""
    row = await region.migration.moves.initiate(
        body.vm, body.endpoint, linger=body.linger, asked_by="operator", reason=body.reason
    )
    return shown_as(row)


@router.get("", responses=errors(), summary="List moves")
async def index(
    region: Running,
    vm: PastVmFilter = None,
    cloudlet: PastCloudletFilter = None,
    state: Annotated[list[Phase] | None, Query(max_length=5)] = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Move]:
    """Return moves, the latest first; with `cloudlet`, those from or to it; with `state`, those in any of these
    states."""
    before = pages.after_moment(cursor)
    async with region.database.read() as session:
        rows = await table.page(session, before, limit + 1, vm, cloudlet, state or ())
    return pages.page(rows, limit, lambda row: f"{row.created_at.isoformat()} {row.name}", shown_as)


@router.get(
    "/{name}",
    response_model=MoveInFull,
    responses=errors(404) | {200: {"content": streams.CONTENT, "description": "The move, or a stream of it."}},
    summary="Show or follow a move",
)
async def show(name: NamePath, request: Request, region: Running, still: Still) -> Response:
    """Return a move. If `Accept` asks for `text/event-stream`, the same document is sent as an event named `move`, at
    once and after every change, until the move is over."""
    shown = await _in_full(region, name)
    if "text/event-stream" in request.headers.get("accept", ""):
        return streams.respond(streams.while_allowed(_stream(region, name), still))
    return JSONResponse(shown.model_dump(mode="json"))


@router.delete("/{name}", responses=errors(404, 409), summary="Cancel a move")
async def cancel(name: NamePath, region: Running) -> Move:
    """Cancel a move and undo its steps, as long as the VM runs at the source and is not about to stop there."""
    return shown_as(await region.migration.moves.cancel(name, "an operator cancelled it"))


@router.post("/{name}/finish", responses=errors(404, 409), summary="Let the old address go")
async def finish(name: NamePath, region: Running) -> Move:
    """Remove the old address now, while it lingers at the step `leave`, whatever connections use it. The VM can then
    move again."""
    return shown_as(await region.migration.moves.finish(name, "an operator did not wait for it"))


async def _in_full(region: Region, name: str) -> MoveInFull:
    async with region.database.read() as session:
        row = await table.get(session, name)
        if row is None:
            raise await names.missing(session, "move", name)
        steps = await table.steps(session, name)
    return MoveInFull(**shown_as(row).model_dump(), steps=[_step(step) for step in steps])


async def _stream(region: Region, name: str) -> AsyncGenerator[bytes, None]:
    told = ""
    with region.runtime.wakeup.listen() as wake:
        yield streams.OPENING
        while True:
            try:
                shown = await _in_full(region, name)
            except Unavailable:  # followers reconnect
                return
            document = shown.model_dump_json()
            if document != told:
                told = document
                yield streams.event("move", None, document)
            if shown.state.over:
                return
            match await streams.woken(wake, region.runtime.stopping):
                case False:
                    return
                case None:
                    yield streams.COMMENT


def shown_as(row: MoveRow) -> Move:
    saga = row.kept
    same = ("name", "vm", "device", "source", "destination", "state", "step", "reason", "asked_by", "ahead")
    end = row.ended_at or row.changed_at
    return Move(
        **{name: getattr(row, name) for name in (*same, "created_at", "changed_at", "ended_at")},
        endpoint=saga.plan.destination.endpoint,
        keep=saga.plan.keep,
        anew=saga.plan.initiation is not None,
        at=saga.here.endpoint,
        address=saga.address,
        new_address=saga.new,
        pool=saga.pool,
        order=saga.number,
        seconds=max((end - row.created_at).total_seconds(), 0.0),
        figures={str(step): figures for step, figures in saga.figures.items()},
    )


def _step(row: StepRow) -> MoveStep:
    known: dict[str, Any] = {name: getattr(row, name) for name in ("step", "undoing", "state", "detail")}
    seconds = (row.ended_at - row.began_at).total_seconds() if row.ended_at else None
    return MoveStep(
        **known,
        figures=Figures.model_validate(row.figures),
        began_at=row.began_at,
        ended_at=row.ended_at,
        seconds=None if seconds is None else max(seconds, 0.0),
    )
