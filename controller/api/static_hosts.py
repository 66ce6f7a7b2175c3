"""Static hosts of LANs: taken over from an earlier network, and never leased to others."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, Mac, NamePath
from controller.core.refusals import missing
from controller.core.static_hosts import Static
from controller.db import static_hosts as table
from controller.db.static_hosts import StaticHostRow
from controller.leases.static_hosts import NotTaken
from controller.runtime.problems import FieldError, Problem

router = APIRouter(prefix="/api/v1/addresses/{endpoint}/statics", tags=["addresses"], dependencies=[Operator])

EXAMPLE: JsonDict = {"hosts": [{"name": "printer", "address": "10.1.0.7", "mac": "02:00:5e:00:00:07"}]}


class NewStatic(Body):
    """A host to take over. Its name and address are checked together with all the others."""

    name: Annotated[str, Field(max_length=63)]
    address: Annotated[str, Field(max_length=45)]
    mac: Mac | None = None


class NewStatics(Body):
    """Hosts to take over, all or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    hosts: Annotated[list[NewStatic], Field(min_length=1, max_length=5000)]


class TakenOver(BaseModel):
    """The result of taking hosts over: `added` were new; the others existed already, exactly so."""

    added: int


class StaticHost(BaseModel):
    """A static host. Its address, and the other half of its pair, are not leased. `until`: a client found the address
    in use; it is leased again then, or once the host is given up. None: the host was taken over."""

    name: str
    address: str
    mac: str | None
    added_at: datetime
    until: datetime | None


@router.post("", responses=errors(404, 409), summary="Take static hosts over")
async def take_over(endpoint: NamePath, body: NewStatics, region: Running) -> TakenOver:
    """Take hosts over, all or none. A host that exists already with the same name and address stays as it is."""
    hosts = [Static(host.name, host.address.strip(), host.mac) for host in body.hosts]
    try:
        return TakenOver(added=await region.leases.static_hosts.take_over(endpoint, hosts))
    except NotTaken as refused:
        found = [FieldError(field=f"hosts.{i}.{field}", message=why) for i, field, why in refused.complaints]
        raise Problem(409, str(refused), found) from None


@router.get("", responses=errors(404), summary="List static hosts")
async def index(
    endpoint: NamePath, region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None
) -> Page[StaticHost]:
    """Return static hosts, sorted by name."""
    if endpoint not in region.intent.endpoints:
        raise missing("endpoint", endpoint, region.intent.endpoints)
    async with region.database.read() as session:
        rows = await table.page(session, endpoint, pages.after(cursor), limit + 1)
    return pages.page(rows, limit, lambda row: row.name, _shown)


@router.delete("/{name}", status_code=204, responses=errors(404), summary="Give a static host up")
async def give_up(endpoint: NamePath, name: NamePath, region: Running) -> Response:
    """Give a static host up. Its address can be leased again."""
    await region.leases.static_hosts.give_up(endpoint, name)
    return Response(status_code=204)


def _shown(row: StaticHostRow) -> StaticHost:
    return StaticHost(**{name: getattr(row, name) for name in StaticHost.model_fields})
