"""Predictions of moves, the profiles that they are made from, and what was decided on them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import ImageFilter, PastCloudletFilter, PastMoveFilter, PastVmFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.core.follow_policy import Course, Relation
from controller.core.refusals import missing
from controller.db import decisions as decision_table
from controller.db import profiles as table
from controller.db import vms
from controller.db.decisions import DecisionRow
from controller.migration.follow_device import consider
from controller.migration.predictions import as_json
from controller.wire.names import NAME_PATTERN

router = APIRouter(prefix="/api/v1", tags=["moves"], dependencies=[Operator])

OneName = Annotated[str, Query(pattern=NAME_PATTERN, max_length=63)]


class Input(BaseModel):
    """A figure, null where nobody knows it, and where it comes from."""

    value: float | None
    origin: str


class Forecast(BaseModel):
    """What the model of pre-copy makes of the inputs, not yet corrected. `converges`: the copy comes to an end, with
    the VM denied `throttle` (0..1) of its CPU time; else there are no times. `wire` in bytes, `rate` in bytes a second;
    `window_bound`: TCP's window holds it back, not the link."""

    converges: bool
    throttle: float
    rounds: int
    seconds: float | None
    paused_ms: float | None
    wire: float | None
    rate: float
    window_bound: bool
    rtt_ms: float


class Correction(BaseModel):
    """The factor on the model's seconds, and how much of it the image and the link have, by how many past moves."""

    factor: float
    image_factor: float
    link_factor: float
    image_moves: int
    link_moves: int


class Error(BaseModel):
    """How far off the predictions of past moves were, as parts of the time that they took: half of them by less than
    `median`, nine of ten by less than `p90`."""

    moves: int
    median: float
    p90: float


class Estimate(BaseModel):
    """`seconds` are the forecast's, corrected; null if the copy would not end, or nobody knows. `rtt_ms` is the round
    trip during the move. Bytes, bytes a second (dirty_rate), bits a second (bandwidth)."""

    inputs: dict[str, Input]
    forecast: Forecast | None
    correction: Correction
    error: Error | None
    seconds: float | None
    rtt_ms: float | None


class Prediction(BaseModel):
    """What a move of `vm` from `source` to `destination` takes, and what would be decided if its device were there."""

    vm: str
    source: str
    destination: str
    relation: Annotated[Relation, Field(description="What the destination's cloudlet is to the VM's.")]
    estimate: Estimate
    course: Course
    reasons: list[str]


class Profile(BaseModel):
    """A move that was made, between two cloudlets: what was predicted, what it took. Bytes, seconds, milliseconds, bits
    (bandwidth) and bytes (dirty_rate) a second; `ratio` bytes went over the wire for one of memory."""

    model_config = ConfigDict(from_attributes=True)

    move: str
    vm: str
    image: str
    source: str
    destination: str
    memory: int
    memory_used: int | None
    dirty_rate: float | None
    bandwidth: float | None
    rtt_before_ms: float | None
    rtt_during_ms: float | None
    model_seconds: float | None
    predicted_seconds: float | None
    seconds: float
    paused_ms: float | None
    wire: int | None
    disk: int | None
    ratio: float | None
    at: datetime


class Decision(BaseModel):
    """`device` was taken to be at `destination`, and its VM at `source` follows it (`move`), or does not, for these
    reasons, on this estimate. `move` names the move that came of it."""

    id: int
    vm: str
    device: str
    source: str
    destination: str
    relation: Relation
    course: Course
    reasons: list[str]
    estimate: Estimate
    move: str | None
    at: datetime


@router.get("/moves/prediction", responses=errors(404, 409), summary="Predict a move")
async def prediction(region: Running, vm: OneName, endpoint: OneName) -> Prediction:
    """What it would take, where each figure comes from, and what would be decided. Nothing is done."""
    async with region.database.read() as session:
        row = await vms.get(session, vm)
        if row is None or row.endpoint not in region.intent.endpoints:
            raise missing("VM", vm)
        found, given, verdict = await consider(session, region.intent, row, endpoint)
    return Prediction(
        vm=vm,
        source=row.endpoint,
        destination=endpoint,
        relation=given.neighbour,
        estimate=Estimate.model_validate(as_json(found)),
        course=verdict.course,
        reasons=list(verdict.reasons),
    )


@router.get("/profiles", responses=errors(), summary="List profiles of moves")
async def profiles(
    region: Running,
    vm: PastVmFilter = None,
    image: ImageFilter = None,
    cloudlet: PastCloudletFilter = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Profile]:
    """The latest first; `cloudlet`: moves from or to it."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after_number(cursor), limit + 1, vm, image, cloudlet)
    return pages.page(rows, limit, lambda row: row.id, Profile.model_validate)


@router.get("/decisions", responses=errors(), summary="List decisions on moves")
async def decisions(
    region: Running,
    vm: PastVmFilter = None,
    move: PastMoveFilter = None,
    course: Course | None = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Decision]:
    """The latest first."""
    async with region.database.read() as session:
        rows = await decision_table.page(session, pages.after_number(cursor), limit + 1, vm, move, course)
    return pages.page(rows, limit, lambda row: row.id, _decision)


def _decision(row: DecisionRow) -> Decision:
    same = ("id", "vm", "device", "source", "destination", "course", "reasons", "estimate", "move", "at")
    return Decision(relation=row.prospect["neighbour"], **{name: getattr(row, name) for name in same})
