"""Reservations of pairs, for devices that are expected."""

from datetime import datetime
from ipaddress import ip_address
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import DeviceFilter, EndpointFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, IdPath, Name
from controller.core.addresses import address6
from controller.core.clock import now
from controller.db import pairs as table
from controller.db.pairs import PairRow
from controller.region import Region

router = APIRouter(prefix="/api/v1/reservations", tags=["addresses"], dependencies=[Operator])

EXAMPLE: JsonDict = {"endpoint": "c2-lan", "device": "m1", "seconds": 600}


class NewReservation(Body):
    """A reservation of the device's pair at a LAN for `seconds`."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    endpoint: Name
    device: Name
    seconds: Annotated[int, Field(ge=1, le=30 * 86400)] = 900


class Reservation(BaseModel):
    """A reserved pair. All its addresses are for the device and its VM, until `held_until` at least; `md6` and `vm6`
    exist if the LAN has IPv6."""

    id: int
    endpoint: str
    device: str
    md: str
    vm: str
    md6: str | None
    vm6: str | None
    held_until: datetime


@router.post("", status_code=201, responses=errors(409), summary="Reserve a pair")
async def create(body: NewReservation, region: Running) -> Reservation:
    """Reserve a pair: the device's old one, if it had one there. Repeating the request moves the end."""
    return _shown(await region.leases.reservations.make(body.endpoint, body.device, body.seconds), region)


@router.get("", responses=errors(), summary="List reservations")
async def index(
    region: Running,
    endpoint: EndpointFilter = None,
    device: DeviceFilter = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Reservation]:
    """Return reservations that have not expired."""
    async with region.database.read() as session:
        rows = await table.page_reserved(session, pages.after_number(cursor), limit + 1, now(), endpoint, device)
    rows = [row for row in rows if row.endpoint in region.intent.endpoints]
    return pages.page(rows, limit, lambda row: row.id, lambda row: _shown(row, region))


class PolicyReservation(BaseModel):
    """A pair that the policy reserves. `has` is the MD's address that the device has at this LAN now, None if it has
    none. The reservation is in force if that is `md` or None, and otherwise as soon as no lease on the old pair is
    left."""

    endpoint: str
    device: str
    md: str
    vm: str
    md6: str | None
    vm6: str | None
    has: str | None
    in_force: bool


@router.get("/policy", responses=errors(), summary="List the policy's reservations")
async def by_policy(
    region: Running,
    endpoint: EndpointFilter = None,
    device: DeviceFilter = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[PolicyReservation]:
    """Return the policy's reservations at existing LANs, sorted by endpoint and device."""
    reserved = sorted(
        (lan, name)
        for lan, plan in region.intent.policy.addresses.lans.items()
        for name in plan.reservations
        if lan in region.intent.endpoints and endpoint in (None, lan) and device in (None, name)
    )
    after = tuple(pages.after(cursor).split())
    rows = [row for row in reserved if row > after][: limit + 1]
    async with region.database.read() as session:
        found = {
            lan: await table.numbers_of(session, lan, [name for where, name in rows if where == lan])
            for lan in {lan for lan, _ in rows}
        }
    return pages.page(rows, limit, " ".join, lambda row: _by_policy(*row, found[row[0]].get(row[1]), region))


@router.delete("/{id}", status_code=204, responses=errors(404), summary="Give a reservation up")
async def give_up(id: IdPath, region: Running) -> None:
    """End a reservation. Leases on the pair continue."""
    await region.leases.reservations.give_up(id)


def _by_policy(endpoint: str, device: str, number: int | None, region: Region) -> PolicyReservation:
    lan = region.intent.endpoints[endpoint]
    md = region.intent.policy.addresses.lans[endpoint].reservations[device]
    vm = str(ip_address(md) + 1)
    has = str(lan.plan.pair(number)[0]) if number is not None else None
    return PolicyReservation(
        endpoint=endpoint,
        device=device,
        md=md,
        vm=vm,
        md6=address6(lan.prefix, lan.prefix6, md),
        vm6=address6(lan.prefix, lan.prefix6, vm),
        has=has,
        in_force=has in (None, md),
    )


def _shown(row: PairRow, region: Region) -> Reservation:
    lan = region.intent.endpoints[row.endpoint]
    md, vm = (str(address) for address in lan.plan.pair(row.number))
    assert row.device is not None and row.held_until is not None  # static hosts' pairs are not reserved
    return Reservation(
        id=row.id,
        endpoint=row.endpoint,
        device=row.device,
        md=md,
        vm=vm,
        md6=address6(lan.prefix, lan.prefix6, md),
        vm6=address6(lan.prefix, lan.prefix6, vm),
        held_until=row.held_until,
    )
