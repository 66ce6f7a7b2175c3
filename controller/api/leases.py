"""Leases for operators. Agents request theirs under `/agent`."""

from datetime import datetime
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from controller.api import etags, pages
from controller.api.access import Operator, Running
from controller.api.etags import ETAG, IfMatch
from controller.api.names import DeviceFilter, EndpointFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, IdPath, Name
from controller.core.addresses import address6
from controller.core.clock import now
from controller.core.refusals import missing
from controller.db import leases as table
from controller.db.leases import LeaseRow
from controller.region import Region

router = APIRouter(prefix="/api/v1/leases", tags=["leases"], dependencies=[Operator])


class NewLease(Body):
    """A lease to grant. `kind` is the half of the device's pair: the MD's even address or the VM's odd one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "c1-lan", "device": "m1", "kind": "md"}]})

    endpoint: Name
    device: Name
    kind: Literal["md", "vm"]


class Lease(BaseModel):
    """An address held until `expires_at`; `address6` is the same half of the same pair, if the LAN has IPv6."""

    id: int
    endpoint: str
    device: str
    kind: Literal["md", "vm"]
    address: str
    address6: str | None
    mac: str | None
    client_id: str | None
    hostname: str | None
    granted_at: datetime
    expires_at: datetime


RENEWED = {200: {"model": Lease, "description": "It was held already, and is renewed.", "headers": ETAG}}


@router.post("", status_code=201, responses=errors(409) | RENEWED | {201: {"headers": ETAG}}, summary="Grant a lease")
async def create(body: NewLease, region: Running, response: Response) -> Lease:
    """Grant a lease. The same device gets the same address: renewed if it holds it, its old one if it comes back."""
    lease, fresh = await region.leases.leases.grant(body.endpoint, body.device, body.kind)
    if fresh:
        region.runtime.metrics.leases.inc()
    else:
        response.status_code = 200
    return _answer(lease, region, response)


@router.get("", responses=errors(), summary="List leases")
async def index(
    region: Running,
    endpoint: EndpointFilter = None,
    device: DeviceFilter = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Lease]:
    """Return leases that have not expired, oldest first."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after_number(cursor), limit + 1, now(), endpoint, device)
    return pages.page(rows, limit, lambda row: row.id, lambda row: _shown(row, region))


@router.get("/{id}", responses=errors(404) | {200: {"headers": ETAG}}, summary="Show a lease")
async def show(id: IdPath, region: Running, response: Response) -> Lease:
    """Return a lease that has not expired."""
    async with region.database.read() as session:
        row = await table.get(session, id, now())
    if row is None:
        raise missing("lease", str(id))
    return _answer(row, region, response)


@router.post("/{id}/renew", responses=errors(404, 409, 412) | {200: {"headers": ETAG}}, summary="Renew a lease")
async def renew(id: IdPath, region: Running, response: Response, if_match: IfMatch = None) -> Lease:
    """Renew a lease for another lease time."""
    return _answer(await region.leases.leases.renew(id, lambda row: etags.check(row, if_match)), region, response)


@router.delete("/{id}", status_code=204, responses=errors(404, 412), summary="Release a lease")
async def release(id: IdPath, region: Running, if_match: IfMatch = None) -> None:
    """End a lease. The pair stays the device's until the plan is full and another device needs it."""
    await region.leases.leases.release(id, lambda row: etags.check(row, if_match))


def _answer(row: LeaseRow, region: Region, response: Response) -> Lease:
    response.headers["ETag"] = etags.etag(row)
    return _shown(row, region)


def _shown(row: LeaseRow, region: Region) -> Lease:
    columns = {name: getattr(row, name) for name in Lease.model_fields if name != "address6"}
    lan = region.intent.endpoints.get(row.endpoint)
    return Lease(**columns, address6=address6(lan.prefix, lan.prefix6, row.address) if lan else None)
