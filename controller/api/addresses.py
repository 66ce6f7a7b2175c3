"""Addresses of LANs: how full each is and when it will be, and what is leased as DNS records."""

from collections.abc import AsyncIterator
from datetime import date, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import NamePath
from controller.core import dns
from controller.core.addresses import address6
from controller.core.dns import Form, Held
from controller.core.refusals import missing
from controller.db import leases
from controller.db.base import now
from controller.db.leases import LeaseRow
from controller.region import Region
from controller.usage import Stock
from controller.wire.names import NAME_PATTERN

router = APIRouter(prefix="/api/v1/addresses", tags=["addresses"], dependencies=[Operator])

Origin = Annotated[
    str,
    Query(
        max_length=120,
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$",
        description="The domain that names are below.",
        examples=["weft.example"],
    ),
]
BATCH = 1000
TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "One record a line."}
}


class Peak(BaseModel):
    """The most pairs that had a live lease at one time on a day (UTC)."""

    day: date
    leased: int


class Lan(BaseModel):
    """In pairs: `capacity` is the plan's, `excluded` what policy takes out, `assigned` those that have a device,
    `leased` those with a live lease, `available` what newcomers can get. `per_day` is the trend and `full_at` when the
    last pair goes by it; `forecast` says it in words."""

    endpoint: str
    prefix: str
    capacity: int
    excluded: int
    assigned: int
    leased: int
    available: int
    per_day: float | None
    full_at: datetime | None
    forecast: str
    peaks: list[Peak]


@router.get("", responses=errors(), summary="List how full LANs are")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Lan]:
    """Sorted by endpoint."""
    after = pages.after(cursor)
    names = sorted(name for name in region.intent.endpoints if name > after)[: limit + 1]
    return pages.page(await region.stocks.of(names), limit, lambda s: s.endpoint, lambda s: _shown(s, region))


@router.get("/dns", responses=errors() | TEXT, response_class=StreamingResponse, summary="Export DNS records")
async def records(
    region: Running,
    origin: Origin = "weft.internal",
    form: Form = Form.ZONE,
    endpoint: Annotated[str | None, Query(pattern=NAME_PATTERN, max_length=63)] = None,
) -> StreamingResponse:
    """What is leased now: `zone` (A and AAAA) and `reverse` (PTR) are to be included in a zone, `hosts` is for
    /etc/hosts."""
    return StreamingResponse(_records(region, origin, form, endpoint), media_type="text/plain; charset=utf-8")


async def _records(region: Region, origin: str, form: Form, endpoint: str | None) -> AsyncIterator[str]:
    yield dns.heading(form, origin)
    after = 0
    while True:
        async with region.database.read() as session:
            rows = await leases.page(session, after, BATCH, now(), endpoint, None)
        if not rows:
            return
        yield "".join(line for row in rows for line in dns.lines(_held(row, region), form, origin))
        after = rows[-1].id


def _held(row: LeaseRow, region: Region) -> Held:
    lan = region.intent.endpoints.get(row.endpoint)
    second = address6(lan.prefix, lan.prefix6, row.address) if lan is not None else None
    return Held(row.device, row.kind, row.endpoint, (row.address, second) if second else (row.address,))


@router.get("/{name}", responses=errors(404), summary="Show how full a LAN is")
async def show(name: NamePath, region: Running) -> Lan:
    """With the peaks of the last days."""
    found = await region.stocks.of([name])
    if not found:
        raise missing("endpoint", name)
    return _shown(found[0], region)


def _shown(stock: Stock, region: Region) -> Lan:
    usage, told = stock.usage, stock.forecast
    return Lan(
        endpoint=stock.endpoint,
        prefix=region.intent.endpoints[stock.endpoint].prefix,
        capacity=usage.capacity,
        excluded=usage.excluded,
        assigned=usage.assigned,
        leased=usage.leased,
        available=usage.available,
        per_day=told.per_day,
        full_at=told.full_at,
        forecast=told.reason,
        peaks=[Peak(day=day, leased=count) for day, count in stock.peaks],
    )
