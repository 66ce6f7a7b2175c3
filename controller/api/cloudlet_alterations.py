"""Alterations of cloudlets: labels, position, VTEP, and the session of a PE without an agent."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from fastapi import APIRouter
from pydantic import ConfigDict, Field, field_validator
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import etags
from controller.api.access import Operator, Running
from controller.api.changes import ConfirmWithin, DryRun
from controller.api.cloudlets import Asn, Latitude, Longitude, TtlSecurity, Vtep, speakers
from controller.api.etags import IfMatch
from controller.api.merge_patch import Fixed, MergePatch, merged
from controller.api.openapi import errors
from controller.api.types import Name, NamePath, Text
from controller.changes.outcomes import ChangeResult
from controller.core import alterations, fixed
from controller.core.intent import Intent
from controller.core.refusals import invalid
from controller.db import cloudlets as table
from controller.inventory.cloudlets import altered
from controller.migration.vms import refuse_moving

router = APIRouter(prefix="/api/v1/cloudlets", tags=["cloudlets"], dependencies=[Operator])


class CloudletAlteration(MergePatch):
    """New values of a cloudlet (RFC 7396): a field that is absent stays, and null returns it to its default. Labels are
    merged with the present ones; null removes one. A position needs both latitude and longitude, or null for both. Only
    an unmanaged PE has an AS number or a distance of its own. `approval`: the agent's next enrolment waits for it."""

    model_config = ConfigDict(
        title="CloudletDescription",  # the name that clients know
        json_schema_extra={"examples": [{"labels": {"city": "turin", "tier": None}}]},
    )

    DEFAULTS: ClassVar[Mapping[str, Any]] = {"approval": False}

    labels: Annotated[dict[Name, Text | None] | None, Field(max_length=64)] = Field(default_factory=dict)
    latitude: Latitude = None
    longitude: Longitude = None
    vtep: Vtep | None = None
    asn: Asn = None
    ttl_security: TtlSecurity = None
    approval: bool | None = None
    name: Annotated[None, Fixed("remove the cloudlet, and add one of that name")] = None
    pe: Annotated[None, Fixed(fixed.OF_CLOUDLETS["pe"])] = None
    unmanaged: Annotated[None, Fixed(fixed.OF_CLOUDLETS["unmanaged"])] = None
    state: Annotated[None, Fixed("its agent enrols; approve or drain the cloudlet")] = None
    endpoints: Annotated[None, Fixed("change the endpoints themselves")] = None

    @field_validator("vtep")
    @classmethod
    def _is_there(cls, value: str | None) -> str:
        if value is None:
            raise ValueError("a cloudlet has a VTEP")
        return value


@router.patch("/{name}", responses=errors(404, 409, 412), summary="Change a cloudlet")
async def change(
    name: NamePath,
    body: CloudletAlteration,
    region: Running,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    if_match: IfMatch = None,
) -> ChangeResult:
    """Change a cloudlet. Answers when the change is in force, as a join does; `interrupted` says for whom something
    ends meanwhile. The same change places its endpoints as the policy in force says: `followed` lists the steps."""
    fields, before = body.given(), region.intent
    approval = fields.pop("approval", None)
    if approval is not None and confirm_within is not None:
        raise invalid("approval", "an approval cannot be on trial: change it by itself")

    def edit(intent: Intent) -> Intent:
        nonlocal before
        before, cloudlet = intent, intent.cloudlets.get(name)
        labels = {"labels": merged(cloudlet.labels, body.labels)} if cloudlet and "labels" in fields else {}
        return alterations.alter_cloudlet(intent, name, fields | labels, speakers(region))

    async def guard(session: AsyncSession) -> None:
        etags.check(await table.get(session, name), if_match)
        cloudlet = region.intent.cloudlets.get(name)
        if cloudlet is not None and fields.get("vtep", cloudlet.vtep) != cloudlet.vtep:
            await refuse_moving(session, name)

    async def also(session: AsyncSession, intent: Intent) -> None:
        await altered(session, before.cloudlets[name], intent.cloudlets[name], approval)

    return await region.changes.flow.apply(edit, f"change {name}", also, guard, confirm_within, dry_run=dry_run)
