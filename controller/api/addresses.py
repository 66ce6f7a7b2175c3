"""Addresses of LANs: how full each LAN is and when it will be full, and the owners of addresses as DNS records."""

from collections.abc import AsyncIterator
from datetime import date, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import EndpointFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import NamePath
from controller.core import dns
from controller.core.addresses import address6
from controller.core.clock import now
from controller.core.dns import Form, Host, NamedHost
from controller.core.refusals import missing
from controller.db import leases, static_hosts
from controller.leases.usage import Stock
from controller.region import Region

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
LANS = 50
"""LANs that one transaction reads."""

TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "One record a line."}
}


class Peak(BaseModel):
    """The most pairs that had a live lease at one time on a day (UTC)."""

    day: date
    leased: int


class Lan(BaseModel):
    """How full a LAN is, in pairs: `capacity` is the plan's, `excluded` are those that policy takes out, `assigned`
    those that have a device, `leased` those with a live lease, `available` those that newcomers can get. `per_day` is
    the trend, and `full_at` the time when the last pair is in use at that trend; `forecast` is the same as a
    sentence."""

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
    """Return the LANs, sorted by endpoint."""
    after = pages.after(cursor)
    names = sorted(name for name in region.intent.endpoints if name > after)[: limit + 1]
    return pages.page(await region.leases.stocks.of(names), limit, lambda s: s.endpoint, lambda s: _shown(s, region))


@router.get("/dns", responses=errors() | TEXT, response_class=StreamingResponse, summary="Export DNS records")
async def records(
    region: Running,
    origin: Origin = "weft.internal",
    form: Form = Form.ZONE,
    endpoint: EndpointFilter = None,
) -> StreamingResponse:
    """Return the static hosts and the present leases: `zone` (A and AAAA) and `reverse` (PTR) are to be included in a
    zone, `hosts` is for /etc/hosts. A host whose name is already another's is left out, with a comment that says so."""
    return StreamingResponse(_records(region, origin, form, endpoint), media_type="text/plain; charset=utf-8")


async def _records(region: Region, origin: str, form: Form, endpoint: str | None) -> AsyncIterator[str]:
    yield dns.heading(form, origin)
    names = [endpoint] if endpoint is not None else sorted(region.intent.endpoints)
    for some in (names[start : start + LANS] for start in range(0, len(names), LANS)):
        lans: dict[str, list[NamedHost]] = {name: [] for name in some}
        async with region.database.read() as session:
            for lan, host, address in await static_hosts.at_lans(session, some):
                lans[lan].append(_held(region, lan, host, Host.STATIC, address))
            for lan, device, kind, address in await leases.at_lans(session, some, now()):
                lans[lan].append(_held(region, lan, device, Host(kind), address))
        yield "".join(line for lan in lans.values() for line in dns.records(lan, form, origin))


def _held(region: Region, endpoint: str, of: str, host: Host, address: str) -> NamedHost:
    lan = region.intent.endpoints.get(endpoint)
    second = address6(lan.prefix, lan.prefix6, address) if lan is not None else None
    return NamedHost(of, host, endpoint, (address, second) if second else (address,))


@router.get("/{name}", responses=errors(404), summary="Show how full a LAN is")
async def show(name: NamePath, region: Running) -> Lan:
    """Return a LAN with the peaks of the last days."""
    found = await region.leases.stocks.of([name])
    if not found:
        raise missing("endpoint", name, region.intent.endpoints)
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
