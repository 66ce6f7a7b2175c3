"""The filters by which PEs enforce access rules: present ones, with their counters, and those of a plan."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain, islice

from fastapi import APIRouter
from pydantic import BaseModel, Field

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import EndpointFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.core.filters import FilterDifference, filters, told
from controller.core.flowspec import FlowSpec
from controller.core.intent import Intent
from controller.db import filters as table
from controller.wire.access import AccessReport, Counted, FlowFamily

router = APIRouter(prefix="/api/v1/filters", tags=["policy"], dependencies=[Operator])

TOLD = 100
"""Maximum number of specifications that a plan shows in all; beyond that it shows only their numbers."""


class FilterChange(BaseModel):
    """The number of Flowspec specifications (RFC 8955) that the PE of an endpoint gets, the number that it loses, and
    the first of them in words, with the signs of diff."""

    endpoint: str
    new: int
    gone: int
    specifications: list[str]


class AccessFilter(BaseModel):
    """A Flowspec specification (RFC 8955) by which the PE of `endpoint` filters the packets that come out of its
    tunnels: in words, and as in BGP (`nlri`, `actions`; hex). `in_kernel` is null until the agent has reported its
    filters. The counters are null if the specification is not in the kernel, and start again when it is installed
    again."""

    endpoint: str
    number: int
    specification: str
    family: FlowFamily
    nlri: str
    actions: list[str]
    in_kernel: bool | None
    packets: int | None
    bytes: int | None
    dropped: int | None = Field(description="Packets that matched and did not pass.")
    at: datetime | None = Field(description="When the agent said so.")


Reports = dict[str, tuple[AccessReport, datetime]]


@router.get("", responses=errors(), summary="List filters")
async def index(
    region: Running, endpoint: EndpointFilter = None, limit: pages.Limit = 100, cursor: pages.Cursor = None
) -> Page[AccessFilter]:
    """Return the filters that follow from access rules, by the endpoint that the packets go to."""
    intent = region.intent
    name, _, number = pages.after(cursor).partition(" ")
    found = list(islice(_behind(intent, endpoint, name, int(number) if number.isdecimal() else -1), limit + 1))
    cloudlets = {intent.endpoints[name].cloudlet for name, _, _ in found}
    async with region.database.read() as session:
        reports = await table.load(session, cloudlets)
    return pages.page(found, limit, lambda one: f"{one[0]} {one[1]}", lambda one: _shown(intent, reports, *one))


def _behind(intent: Intent, only: str | None, name: str, number: int) -> Iterator[tuple[str, int, FlowSpec]]:
    names = sorted(intent.endpoints) if only is None else [only] * (only in intent.endpoints)
    for endpoint in names[bisect_left(names, name) :]:
        for i, spec in enumerate(filters(intent, [endpoint]).get(endpoint, ())):
            if (endpoint, i) > (name, number):
                yield endpoint, i, spec


def _shown(intent: Intent, reports: Reports, endpoint: str, number: int, spec: FlowSpec) -> AccessFilter:
    as_told = told(spec)
    report, at = reports.get(intent.endpoints[endpoint].cloudlet, (None, None))
    counted = _counted(report, endpoint, as_told.family, as_told.nlri) if report else None
    return AccessFilter(
        endpoint=endpoint,
        number=number,
        specification=str(spec),
        family=as_told.family,
        nlri=as_told.nlri,
        actions=as_told.actions,
        in_kernel=None if report is None else counted is not None,
        packets=counted and counted.packets,
        bytes=counted and counted.bytes,
        dropped=counted and counted.dropped,
        at=at,
    )


def _counted(report: AccessReport, endpoint: str, family: FlowFamily, nlri: str) -> Counted | None:
    wanted = endpoint, family, nlri
    return next((one for one in report.filters if (one.endpoint, one.family, one.nlri) == wanted), None)


def filtered(differences: Iterable[FilterDifference]) -> list[FilterChange]:
    """Return the filters of a plan, by endpoint."""
    told, found = 0, []
    for one in differences:
        words = chain((f"- {spec}" for spec in one.gone), (f"+ {spec}" for spec in one.new))
        some = list(islice(words, TOLD - told))
        told += len(some)
        found.append(FilterChange(endpoint=one.endpoint, new=len(one.new), gone=len(one.gone), specifications=some))
    return found
