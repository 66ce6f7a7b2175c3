"""Predictions of moves, the profiles behind them, and the decisions based on them."""

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
from controller.migration.initiations import measured
from controller.migration.predictions import as_json
from controller.wire.names import NAME_PATTERN

router = APIRouter(prefix="/api/v1", tags=["moves"], dependencies=[Operator])

OneName = Annotated[str, Query(pattern=NAME_PATTERN, max_length=63)]


class PredictionInput(BaseModel):
    """An input of a prediction, null if unknown, and its origin. `guessed`: nobody has measured it, and the time of the
    move depends on it."""

    value: float | None
    origin: str
    guessed: bool = False


class Forecast(BaseModel):
    """The result of the model of pre-copy, not yet corrected. `converges`: the copy ends, with the VM denied `throttle`
    (0..1) of its CPU time; else there are no times. `wire` is in bytes, `rate` in bytes a second; `window_bound`: TCP's
    window limits the rate, not the link."""

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
    """The factor on the model's seconds, the shares of the image and of the link in it, and the numbers of past moves
    behind each."""

    factor: float
    image_factor: float
    link_factor: float
    image_moves: int
    link_moves: int


class PredictionError(BaseModel):
    """The errors of past predictions, as parts of the time that the moves took: half of the errors are below `median`,
    nine of ten below `p90`."""

    moves: int
    median: float
    p90: float


class Estimate(BaseModel):
    """The estimate of a move. `seconds` are the forecast's, corrected; null if the copy would not end, or inputs are
    unknown. `rtt_ms` is the round trip during the move. Units: bytes, bytes a second (dirty_rate), bits a second
    (bandwidth)."""

    inputs: dict[str, PredictionInput]
    forecast: Forecast | None
    correction: Correction
    error: PredictionError | None
    seconds: float | None
    rtt_ms: float | None


class Prediction(BaseModel):
    """The estimate of a move of `vm` from `source` to `destination`, and the decision if its device were there.
    `initiation_seconds` is how long a new VM takes until it serves: the median of past `initiations` of VMs of its
    image, or the policy's value if there was none."""

    vm: str
    source: str
    destination: str
    relation: Annotated[Relation, Field(description="What the destination's cloudlet is to the VM's.")]
    estimate: Estimate
    initiation_seconds: float
    initiations: int
    course: Course
    reasons: list[str]


class MoveProfile(BaseModel):
    """A past move between two cloudlets, with its predicted and its measured values. Units: bytes, seconds,
    milliseconds, bits a second (bandwidth), bytes a second (dirty_rate); `ratio` is the bytes on the wire for each byte
    of memory; `kept`: both ends had a copy of the VM's memory, of an earlier stay; `direct`: it went without a thin
    line."""

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
    kept: bool
    direct: bool
    at: datetime


class MoveDecision(BaseModel):
    """A decision after `device` settled at `destination`: its VM at `source` follows it (`move`), or does not, for
    these reasons, on this estimate. `move` names the resulting move."""

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
    """Return the estimate of a move, the origin of each figure, and the decision that would follow. Changes nothing."""
    async with region.database.read() as session:
        row = await vms.get(session, vm)
        if row is None or row.endpoint not in region.intent.endpoints:
            raise missing("VM", vm)
        found, given, verdict = await consider(session, region.intent, row, endpoint)
        took = await measured(session, row)
        guess = region.intent.policy.migration.initiation_seconds
    return Prediction(
        vm=vm,
        source=row.endpoint,
        destination=endpoint,
        relation=given.neighbour,
        estimate=Estimate.model_validate(as_json(found)),
        initiation_seconds=guess if took.seconds is None else took.seconds,
        initiations=took.initiations,
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
) -> Page[MoveProfile]:
    """Return profiles, the latest first; with `cloudlet`, those of moves from or to it."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after_number(cursor), limit + 1, vm, image, cloudlet)
    return pages.page(rows, limit, lambda row: row.id, MoveProfile.model_validate)


@router.get("/decisions", responses=errors(), summary="List decisions on moves")
async def decisions(
    region: Running,
    vm: PastVmFilter = None,
    move: PastMoveFilter = None,
    course: Course | None = None,
    waiting: Annotated[bool, Query(description="Only those that wait for an operator.")] = False,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[MoveDecision]:
    """Return decisions, the latest first. A decision that a new VM is better waits for an operator while the VM is
    still away from its device, and nothing has come of it."""
    async with region.database.read() as session:
        only = await decision_table.waiting(session) if waiting else None
        rows = await decision_table.page(session, pages.after_number(cursor), limit + 1, vm, move, course, only)
    return pages.page(rows, limit, lambda row: row.id, _decision)


def _decision(row: DecisionRow) -> MoveDecision:
    same = ("id", "vm", "device", "source", "destination", "course", "reasons", "estimate", "move", "at")
    return MoveDecision(relation=row.prospect["neighbour"], **{name: getattr(row, name) for name in same})
