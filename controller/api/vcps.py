"""Virtual Cloud Pools."""

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import etags, pages
from controller.api.access import Operator, Running
from controller.api.changes import DryRun
from controller.api.etags import ETAG, IfMatch
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, Name, NamePath, Text
from controller.changes.outcomes import ChangeResult
from controller.core import edits
from controller.core.intent import Intent
from controller.core.intent import Vcp as Wanted
from controller.core.refusals import missing
from controller.db import events, members
from controller.db import vcps as table
from controller.db.vcps import VcpRow
from controller.wire.flavours import Flavour

router = APIRouter(prefix="/api/v1/vcps", tags=["vcps"], dependencies=[Operator])


class NewVcp(Body):
    """A pool without members."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "blue", "description": "Clinics"}]})

    name: Name
    flavour: Flavour = Flavour.VPLS
    description: Text = ""


class Vcp(BaseModel):
    """A pool and its members. `managed_by_policy`: the policy created it or took it over, and may delete it."""

    name: str
    flavour: Flavour
    description: str
    managed_by_policy: bool
    members: list[str]
    created_at: datetime


@router.post("", status_code=201, responses=errors(409) | {201: {"headers": ETAG}}, summary="Found a pool")
async def create(body: NewVcp, region: Running, response: Response) -> Vcp:
    """Create a pool. Members join later."""

    async def also(session: AsyncSession, _intent: Intent) -> None:
        await events.add(session, "vcp-created", body.name, f"VCP {body.name} was founded")

    def edit(intent: Intent) -> Intent:
        return edits.add_vcp(intent, Wanted(body.name, body.flavour, body.description))

    await region.changes.flow.make(edit, f"found {body.name}", also)
    return await show(body.name, region, response)


@router.get("", responses=errors(), summary="List pools")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Vcp]:
    """Return pools, sorted by name."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after(cursor), limit + 1)
        joined = await members.of(session, [row.name for row in rows])
    return pages.page(rows, limit, lambda row: row.name, lambda row: _shown(row, joined[row.name]))


@router.get("/{name}", responses=errors(404) | {200: {"headers": ETAG}}, summary="Show a pool")
async def show(name: NamePath, region: Running, response: Response) -> Vcp:
    """Return a pool with its members."""
    async with region.database.read() as session:
        row = await table.get(session, name)
        if row is None:
            raise missing("VCP", name, region.intent.vcps)
        joined = await members.of(session, [name])
    response.headers["ETag"] = etags.etag(row)
    return _shown(row, joined[name])


@router.delete("/{name}", responses=errors(404, 409, 412), summary="Remove a pool")
async def remove(name: NamePath, region: Running, dry_run: DryRun = False, if_match: IfMatch = None) -> ChangeResult:
    """Remove a pool. It must have no members."""

    async def guard(session: AsyncSession) -> None:
        etags.check(await table.get(session, name), if_match)

    async def also(session: AsyncSession, _intent: Intent) -> None:
        await events.add(session, "vcp-removed", name, f"VCP {name} was removed")

    def edit(intent: Intent) -> Intent:
        return edits.remove_vcp(intent, name)

    return await region.changes.flow.apply(edit, f"remove {name}", also, guard, dry_run=dry_run)


def _shown(row: VcpRow, joined: list[str]) -> Vcp:
    return Vcp(
        name=row.name,
        flavour=Flavour(row.flavour),
        description=row.description,
        managed_by_policy=row.managed_by_policy,
        members=joined,
        created_at=row.created_at,
    )
