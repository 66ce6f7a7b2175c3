"""Sightings: the present places of devices, and where they were last seen."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.names import DeviceFilter, EndpointFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.core import sightings
from controller.core.clock import now
from controller.db import sightings as table
from controller.wire.sightings import How

router = APIRouter(prefix="/api/v1/sightings", tags=["sightings"], dependencies=[Operator])


class Place(BaseModel):
    """A device's place. It is `endpoint` since `since` (null: none yet). The device was last seen at `seen_endpoint`,
    there and nowhere else since `seen_since`, the last time at `at`: it was leased an address, or had it confirmed
    (`lease`), or a packet led to its lease (`packet`). `turns` counts its recent changes of place."""

    endpoint: str | None
    since: datetime | None
    seen_endpoint: str
    seen_since: datetime
    at: datetime
    how: How
    turns: Annotated[
        float, Field(description="The more, the longer it has to stay; forgotten by half in half an hour.")
    ]

    @classmethod
    def of(cls, place: sightings.DevicePlace) -> "Place":
        """Return the API's form of a place."""
        values = {name: getattr(place, name) for name in Place.model_fields}
        return cls(**values | {"turns": round(sightings.turns(place, now()), 2)})


class DeviceSighting(Place):
    """The place of a named device."""

    device: str


@router.get("", responses=errors(), summary="List sightings")
async def index(
    region: Running,
    device: DeviceFilter = None,
    endpoint: EndpointFilter = None,
    settled: Annotated[bool | None, Query(description="Only those that are, or are not, where they were seen.")] = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[DeviceSighting]:
    """Return the place of each device that was ever seen, sorted by device; with `endpoint`, of devices that are or
    were last seen there."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after(cursor), limit + 1, device, endpoint, settled)
    return pages.page(
        rows,
        limit,
        lambda row: row.device,
        lambda row: DeviceSighting(device=row.device, **Place.of(row.place).model_dump()),
    )
