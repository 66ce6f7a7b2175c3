"""Neighbours: present and past measurements between cloudlets, and the bandwidths that moves have measured."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import CloudletFilter, NeighbourFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Moment, utc
from controller.core.clock import now
from controller.core.neighbour_history import DAY, HOUR, ROUND
from controller.core.refusals import missing
from controller.db import bandwidths as bandwidth_table
from controller.db import neighbour_history as history_table
from controller.db import neighbours as table
from controller.db.bandwidths import BandwidthRow
from controller.db.neighbour_history import NeighbourHistoryRow
from controller.db.neighbours import NeighbourRow
from controller.wire.names import NAME_PATTERN
from controller.wire.neighbours import Method

router = APIRouter(prefix="/api/v1/neighbours", tags=["neighbours"], dependencies=[Operator])

OneName = Annotated[str, Query(pattern=NAME_PATTERN, max_length=63)]
Ms = Annotated[float | None, Field(description="Milliseconds; null if nothing came back.")]
Loss = Annotated[float, Field(description="0..1")]
SPANS = {"round": ROUND, "hour": HOUR, "day": DAY}
BEGINNING = datetime.fromtimestamp(0, UTC)


class Neighbour(BaseModel):
    """The last measurement of `neighbour` by `cloudlet`: round trips of the `received` of `sent` echoes. `loss` is
    smoothed over the last rounds. `possible`: VMs can move there. `stale`: nothing was received for too long, so it is
    not possible. `since` is when either of these last changed."""

    cloudlet: str
    neighbour: str
    possible: bool
    stale: bool
    since: datetime
    at: datetime
    method: Method
    sent: int
    received: int
    min_ms: Ms
    median_ms: Ms
    p95_ms: Ms
    jitter_ms: Ms
    loss: Loss


class PastMeasurement(BaseModel):
    """The measurements of `rounds` rounds: of the one that ended at `at`, or of those in the hour or day that begins
    then (UTC)."""

    at: datetime
    rounds: int
    method: Method
    sent: int
    received: int
    min_ms: Ms
    median_ms: Ms
    p95_ms: Ms
    jitter_ms: Ms
    loss: Loss


class Matrix(BaseModel):
    """Median round trips in milliseconds, by measuring cloudlet, then by neighbour: null if no echo came back, absent
    if there was no measurement or no fresh one. `cloudlets` are all neighbours; a page has the measurements of some of
    them, and `next` is the cursor of the following page, null at the end."""

    cloudlets: list[str]
    median_ms: dict[str, dict[str, float | None]]
    next: str | None = None


class Bandwidth(BaseModel):
    """The bandwidth from `cloudlet` to `neighbour`, as measured by `moves` moves; later moves have more weight."""

    cloudlet: str
    neighbour: str
    bits_per_second: float
    moves: int
    last_bytes: int
    last_seconds: float
    at: datetime


@router.get("", responses=errors(), summary="List neighbours")
async def index(
    region: Running,
    cloudlet: CloudletFilter = None,
    neighbour: NeighbourFilter = None,
    possible: Annotated[bool | None, Query(description="Only those that are possible neighbours, or are not.")] = None,
    stale: Annotated[bool | None, Query(description="Only those that nothing was heard of, or was.")] = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Neighbour]:
    """Return pairs by measuring cloudlet, then by neighbour. A pair without a measurement for a day is forgotten."""
    at = now()
    async with region.database.read() as session:
        rows = await table.page(session, pages.after_pair(cursor), limit + 1, at, cloudlet, neighbour, possible, stale)
    return pages.page(rows, limit, _key, lambda row: _shown(row, at))


@router.get("/history", responses=errors(404), summary="How a neighbour was")
async def history(
    region: Running,
    cloudlet: OneName,
    neighbour: OneName,
    span: Annotated[
        Literal["round", "hour", "day"],
        Query(description="Rounds are kept for a day (less if probes are frequent), hours for 30, days for 365."),
    ] = "round",
    since: Annotated[Moment | None, Query(description="UTC unless it says otherwise.")] = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[PastMeasurement]:
    """Return past measurements, oldest first."""
    for name in (cloudlet, neighbour):
        if name not in region.intent.cloudlets:
            raise missing("cloudlet", name)
    after = _moment(cursor)
    first = max(since, BEGINNING) if since else BEGINNING
    async with region.database.read() as session:
        rows = await history_table.page(session, cloudlet, neighbour, SPANS[span], first, after, limit + 1)
    return pages.page(rows, limit, lambda row: row.at.isoformat(), _past)


@router.get("/matrix", responses=errors(404), summary="Round trips between all")
async def matrix(
    region: Running,
    vcp: Annotated[str | None, Query(pattern=NAME_PATTERN, max_length=63, description="Only its members.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many measuring cloudlets at most.")] = 100,
    cursor: pages.Cursor = None,
) -> Matrix:
    """Return the round trips of all cloudlets, or of those with an endpoint in one pool, by measuring cloudlet."""
    intent, names = region.intent, sorted(region.intent.cloudlets)
    if vcp is not None:
        if vcp not in intent.vcps:
            raise missing("vcp", vcp)
        names = sorted({intent.endpoints[member].cloudlet for member in intent.vcps[vcp].members})
    after = pages.after(cursor)
    rows = [name for name in names if name > after]
    shown = rows[:limit]
    async with region.database.read() as session:
        found = await table.matrix(session, now(), shown, None if vcp is None else names)
    medians: dict[str, dict[str, float | None]] = {}
    for one, other, median in sorted(found):
        medians.setdefault(one, {})[other] = median
    following = pages.write_cursor(shown[-1]) if len(rows) > limit else None
    return Matrix(cloudlets=names, median_ms=medians, next=following)


@router.get("/bandwidths", responses=errors(), summary="List bandwidths")
async def bandwidths(
    region: Running,
    cloudlet: CloudletFilter = None,
    neighbour: NeighbourFilter = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Bandwidth]:
    """Return estimates from moves, by source, then by destination."""
    async with region.database.read() as session:
        rows = await bandwidth_table.page(session, pages.after_pair(cursor), limit + 1, cloudlet, neighbour)
    return pages.page(rows, limit, _key, lambda row: Bandwidth(**{n: getattr(row, n) for n in Bandwidth.model_fields}))


def _key(row: NeighbourRow | BandwidthRow) -> str:
    return f"{row.cloudlet} {row.neighbour}"


def _moment(cursor: str | None) -> datetime:
    if not (key := pages.after(cursor)):
        return BEGINNING
    try:
        return utc(datetime.fromisoformat(key))
    except ValueError:
        raise pages.not_ours() from None


def _shown(row: NeighbourRow, at: datetime) -> Neighbour:
    same = set(Neighbour.model_fields) - {"possible", "stale"}
    stale = row.fresh_until <= at
    return Neighbour(possible=row.possible and not stale, stale=stale, **{name: getattr(row, name) for name in same})


def _past(row: NeighbourHistoryRow) -> PastMeasurement:
    same = set(PastMeasurement.model_fields) - {"loss"}
    return PastMeasurement(loss=1 - row.received / row.sent, **{name: getattr(row, name) for name in same})
