"""Alterations of endpoints: ports, MTU, lease time, limits, tenant, VNI and prefixes."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from fastapi import APIRouter
from pydantic import ConfigDict, field_validator
from pydantic.config import JsonDict
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import etags
from controller.api.access import Operator, Running
from controller.api.changes import ConfirmWithin, DryRun
from controller.api.cloudlets import speakers
from controller.api.endpoints import (
    DEFAULT_LEASE_SECONDS,
    DEFAULT_MTU,
    Gateway,
    LeaseSeconds,
    MaxRoutes,
    Mtu,
    Ports,
    Prefix,
    Vni,
)
from controller.api.etags import IfMatch
from controller.api.merge_patch import Fixed, MergePatch
from controller.api.openapi import errors
from controller.api.types import Name, NamePath
from controller.changes.outcomes import ChangeResult
from controller.core import alterations, fixed
from controller.core.intent import Intent
from controller.db import endpoints as table
from controller.inventory.endpoints import altered

router = APIRouter(prefix="/api/v1/endpoints", tags=["endpoints"], dependencies=[Operator])

ALTERED: JsonDict = {"ports": ["md*", "vm*"], "mtu": 1400, "max_routes": None}


class EndpointAlteration(MergePatch):
    """New values of an endpoint (RFC 7396): a field that is absent stays, and null returns it to its default. Other
    prefixes are refused while anything depends on the present addresses; gateways follow from them. With another
    tenant, the endpoint waits for that tenant's consent, if the policy asks for it."""

    model_config = ConfigDict(json_schema_extra={"examples": [ALTERED]})
    DEFAULTS: ClassVar[Mapping[str, Any]] = {"ports": (), "mtu": DEFAULT_MTU, "lease_seconds": DEFAULT_LEASE_SECONDS}

    prefix: Prefix | None = None
    prefix6: Prefix | None = None
    gateway: Gateway = None
    ports: Ports | None = None
    vni: Vni = None
    mtu: Mtu | None = None
    lease_seconds: LeaseSeconds | None = None
    max_routes: MaxRoutes = None
    tenant: Name | None = None
    name: Annotated[None, Fixed("remove the endpoint, and add one of that name")] = None
    cloudlet: Annotated[None, Fixed(fixed.OF_ENDPOINTS["cloudlet"])] = None
    flavour: Annotated[None, Fixed("it is that of the cloudlet's PE")] = None
    vtep: Annotated[None, Fixed("it is the cloudlet's: change that")] = None
    site: Annotated[None, Fixed("it is allotted for good, as route targets and labels follow from it")] = None
    index: Annotated[None, Fixed("it is allotted for good, as labels follow from it")] = None
    rt: Annotated[None, Fixed("it follows from the site number")] = None
    rd: Annotated[None, Fixed("it follows from the site number")] = None
    gateway6: Annotated[None, Fixed("it is the first address of prefix6")] = None
    vcps: Annotated[None, Fixed("join and leave pools instead")] = None
    consent: Annotated[None, Fixed("its tenant gives and withdraws it")] = None

    @field_validator("prefix")
    @classmethod
    def _is_there(cls, value: str | None) -> str:
        if value is None:
            raise ValueError("an endpoint has an IPv4 prefix; null takes prefix6 alone away")
        return value


@router.patch("/{name}", responses=errors(404, 409, 412), summary="Change an endpoint")
async def change(
    name: NamePath,
    body: EndpointAlteration,
    region: Running,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    if_match: IfMatch = None,
) -> ChangeResult:
    """Change an endpoint. Answers when the change is in force, as a join does; `interrupted` says for whom something
    ends meanwhile. Other prefixes cannot be on trial."""
    fields = body.given() | ({"ports": tuple(body.ports)} if body.ports is not None else {})
    renumbering, before = region.leases.renumbering, region.intent

    def edit(intent: Intent) -> Intent:
        nonlocal before
        before = intent
        return alterations.alter_endpoint(intent, name, fields, speakers(region))

    async def guard(session: AsyncSession) -> None:
        etags.check(await table.get(session, name), if_match)
        if name in region.intent.endpoints:
            after = edit(region.intent).endpoints[name]
            await renumbering.check(session, region.intent, after)

    async def also(session: AsyncSession, intent: Intent) -> None:
        await altered(session, before, intent, name, renumbering)

    cause = f"change endpoint {name}"
    return await region.changes.flow.apply(edit, cause, also, guard, confirm_within, dry_run=dry_run)
