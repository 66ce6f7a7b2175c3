"""Devices: an MD and, optionally, the VM that serves it. Together they have one pair of addresses at a LAN."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import etags, pages
from controller.api.access import Operator, Running
from controller.api.etags import ETAG, IfMatch
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.sightings import Place
from controller.api.types import Body, ClientId, Mac, Name, NamePath
from controller.core import sightings as core
from controller.core.dhcp_identity import DhcpIdentity, Identities
from controller.core.refusals import conflict
from controller.db import devices as table
from controller.db import names, sightings
from controller.db.devices import ClientRow, DeviceRow
from controller.leases.devices import forget, register

router = APIRouter(prefix="/api/v1/devices", tags=["devices"], dependencies=[Operator])

EXAMPLE: JsonDict = {"name": "m1", "mac": "02:00:5e:00:00:01", "vm": {"mac": "02:00:5e:00:00:02"}}


class DhcpClient(Body):
    """A machine's identity in DHCP: a MAC, a client id, or both (the client id then takes precedence)."""

    mac: Mac | None = None
    client_id: ClientId | None = None

    @model_validator(mode="after")
    def _is_known_somehow(self) -> "DhcpClient":
        if self.mac is None and self.client_id is None:
            raise ValueError("give mac, client_id, or both")
        return self

    @property
    def identity(self) -> DhcpIdentity:
        """The identity, as decisions read it."""
        return DhcpIdentity(self.mac, self.client_id)


class NewDevice(DhcpClient):
    """A device to register: its own MAC or client id, and those of its VM."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Name
    vm: DhcpClient | None = None

    @model_validator(mode="after")
    def _are_two(self) -> "NewDevice":
        if self.vm is not None and self.identity.clashes(self.vm.identity):
            raise ValueError("the device and its VM cannot be known by the same mac or client_id")
        return self


class KnownClient(BaseModel):
    """A machine's identity in DHCP."""

    mac: str | None
    client_id: str | None


class Device(KnownClient):
    """A device. `implicit`: it was not registered, but requested an address. `place`: its place, if it was ever
    seen."""

    name: str
    vm: KnownClient | None
    implicit: Annotated[bool, Field(description="Not registered: it came and asked.")]
    created_at: datetime
    place: Place | None


@router.post("", status_code=201, responses=errors(409) | {201: {"headers": ETAG}}, summary="Register a device")
async def create(body: NewDevice, region: Running, response: Response) -> Device:
    """Register a device. A device that is already in use without registration keeps its pair under the new name."""

    async def work(session: AsyncSession) -> None:
        await register(session, body.name, Identities(body.identity, body.vm.identity if body.vm else None))

    try:
        await region.database.transact(work)
    except IntegrityError as error:
        raise conflict("another device has this name, MAC or client id") from error
    region.runtime.wakeup.ring()
    return await show(body.name, region, response)


@router.get("", responses=errors(), summary="List devices")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Device]:
    """Return devices, sorted by name."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after(cursor), limit + 1)
        clients = await table.clients(session, [row.name for row in rows])
        places = await sightings.places(session, [row.name for row in rows])
    return pages.page(rows, limit, lambda row: row.name, lambda row: Device(**described(row, clients, places)))


@router.get("/{name}", responses=errors(404) | {200: {"headers": ETAG}}, summary="Show a device")
async def show(name: NamePath, region: Running, response: Response) -> Device:
    """Return a device with its VM."""
    async with region.database.read() as session:
        row = await table.get(session, name)
        if row is None:
            raise await names.missing(session, "device", name)
        clients = await table.clients(session, [name])
        places = await sightings.places(session, [name])
    response.headers["ETag"] = etags.etag(row)
    return Device(**described(row, clients, places))


@router.delete("/{name}", status_code=204, responses=errors(404, 409, 412), summary="Forget a device")
async def remove(name: NamePath, region: Running, if_match: IfMatch = None) -> None:
    """Remove a device. It must have no VM and no leases, because their holders would go on using the addresses."""
    async with region.database.write() as session:
        await forget(session, name, lambda row: etags.check(row, if_match))
    region.runtime.wakeup.ring()


def described(
    row: DeviceRow, clients: dict[tuple[str, str], ClientRow], places: dict[str, core.DevicePlace]
) -> dict[str, Any]:
    """Return the values of a device in the API's form. `clients` are by device and kind."""
    md, vm = clients.get((row.name, "md")), clients.get((row.name, "vm"))
    return {
        "name": row.name,
        "mac": md.mac if md else None,
        "client_id": md.client_id if md else None,
        "vm": KnownClient(mac=vm.mac, client_id=vm.client_id) if vm else None,
        "implicit": row.implicit,
        "created_at": row.created_at,
        "place": Place.of(places[row.name]) if row.name in places else None,
    }
