"""Endpoints: the LANs of cloudlets and their attachment to the fabric."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import etags, pages
from controller.api.access import Calling, Operator, Running
from controller.api.changes import DryRun
from controller.api.cloudlets import speakers
from controller.api.etags import ETAG, IfMatch
from controller.api.names import CloudletFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, Name, NamePath
from controller.changes.outcomes import ChangeResult
from controller.core import edits
from controller.core.addresses import AddressPlan
from controller.core.consents import ConsentState, state
from controller.core.intent import Endpoint as Wanted
from controller.core.intent import Intent
from controller.core.refusals import missing
from controller.core.rulesets import site_target
from controller.db import endpoints as table
from controller.db.endpoints import EndpointRow
from controller.inventory.endpoints import made, removed
from controller.migration.vms import refuse_occupied
from controller.region import Region
from controller.wire.flavours import Flavour

router = APIRouter(prefix="/api/v1/endpoints", tags=["endpoints"], dependencies=[Operator])

Port = Annotated[
    str,
    Field(
        pattern=r"^(?:[A-Za-z0-9_.:@*?\[\]-]{1,15}|[A-Za-z0-9_.:@-]{1,15}\.[1-9][0-9]{0,3})$",
        description="Interface name, shell pattern of names, or a VLAN of an interface: eth1.100.",
    ),
]
EXAMPLE: JsonDict = {"name": "c1-lan", "cloudlet": "c1", "prefix": "10.1.0.0/24", "ports": ["md*", "vm*"]}
DUAL: JsonDict = {"name": "c1-lan", "cloudlet": "c1", "prefix": "10.1.0.0/24", "prefix6": "2001:db8:1::/64"}


Ports = Annotated[list[Port], Field(max_length=64)]
Vni = Annotated[int | None, Field(ge=1, le=16777215)]
Mtu = Annotated[int, Field(ge=576, le=9216)]
LeaseSeconds = Annotated[int, Field(ge=60, le=30 * 86400)]
MaxRoutes = Annotated[int | None, Field(ge=1, le=2**31 - 1)]
Prefix = Annotated[str, Field(max_length=49)]
Gateway = Annotated[str | None, Field(max_length=45)]
DEFAULT_MTU, DEFAULT_LEASE_SECONDS = 1450, 3600


class NewEndpoint(Body):
    """An endpoint to create. `prefix` is an IPv4 prefix of at most 29 bits; `gateway`, if given, must be the address
    plan's. `vni` is for EVPN, 10000 by default. `mtu` is in bytes. An endpoint with more than `max_routes` routes has
    all of them in quarantine. `prefix6` adds IPv6 to the LAN, /64 to /125; it needs an `mtu` of at least 1280. `tenant`
    is the endpoint's owner: the policy may restrict where a tenant's endpoints can be."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE, DUAL]})

    name: Name
    cloudlet: Name
    prefix: Prefix
    prefix6: Prefix | None = None
    gateway: Gateway = None
    ports: Ports = Field(default_factory=list)
    vni: Vni = None
    mtu: Mtu = DEFAULT_MTU
    lease_seconds: LeaseSeconds = DEFAULT_LEASE_SECONDS
    max_routes: MaxRoutes = None
    tenant: Name | None = None


class Consent(BaseModel):
    """A tenant's consent to its endpoint: `by` is the caller who consented, `at` the time when consent was last given
    or withdrawn. In the states `waiting` and `withdrawn` the endpoint is held back; in `unasked` its tenant need not
    consent."""

    state: ConsentState
    by: str | None
    at: datetime | None


class Endpoint(BaseModel):
    """One LAN of a cloudlet. `site` is the site number (VE ID of a VPLS endpoint); `rt` and `rd` follow from it.
    `index` is the endpoint's number at its cloudlet. `capacity` counts the pairs of its address plan, or of the smaller
    one if there are two. `prefix6` and `gateway6` are its IPv6 LAN, if it has one."""

    name: str
    cloudlet: str
    flavour: Flavour
    prefix: str
    gateway: str
    prefix6: str | None
    gateway6: str | None
    ports: list[str]
    site: int
    index: int
    rt: str
    rd: str
    vni: int | None
    vtep: str
    mtu: int
    lease_seconds: int
    max_routes: int | None
    tenant: str | None
    consent: Consent
    capacity: int
    vcps: list[str]
    created_at: datetime


@router.post("", status_code=201, responses=errors(409) | {201: {"headers": ETAG}}, summary="Make an endpoint")
async def create(body: NewEndpoint, region: Running, response: Response) -> Endpoint:
    """Create an endpoint, a LAN of a cloudlet. Its site number and index never change."""
    wanted = Wanted(
        name=body.name,
        cloudlet=body.cloudlet,
        site=0,
        index=0,
        prefix=body.prefix,
        prefix6=body.prefix6,
        gateway=body.gateway or "",
        ports=tuple(body.ports),
        vni=body.vni,
        mtu=body.mtu,
        lease_seconds=body.lease_seconds,
        max_routes=body.max_routes,
        tenant=body.tenant,
    )

    async def also(session: AsyncSession, intent: Intent) -> None:
        await made(session, intent, body.name)

    def edit(intent: Intent) -> Intent:
        return edits.add_endpoint(intent, wanted, speakers(region), region.fabric.asn)

    await region.changes.flow.make(edit, f"make endpoint {body.name}", also)
    return await show(body.name, region, response)


@router.get("", responses=errors(), summary="List endpoints")
async def index(
    region: Running,
    caller: Calling,
    cloudlet: CloudletFilter = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Endpoint]:
    """Return endpoints, sorted by name; of one cloudlet or of all. A tenant gets only its own."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after(cursor), limit + 1, cloudlet, caller.tenant)
    rows = [row for row in rows if row.cloudlet in region.intent.cloudlets]
    return pages.page(rows, limit, lambda row: row.name, lambda row: _shown(row, region))


@router.get("/{name}", responses=errors(404) | {200: {"headers": ETAG}}, summary="Show an endpoint")
async def show(name: NamePath, region: Running, response: Response) -> Endpoint:
    """Return an endpoint with the pools it is in."""
    async with region.database.read() as session:
        row = await table.get(session, name)
    if row is None or row.cloudlet not in region.intent.cloudlets:
        raise missing("endpoint", name, region.intent.endpoints)
    response.headers["ETag"] = etags.etag(row)
    return _shown(row, region)


@router.delete("/{name}", responses=errors(404, 409, 412), summary="Remove an endpoint")
async def remove(name: NamePath, region: Running, dry_run: DryRun = False, if_match: IfMatch = None) -> ChangeResult:
    """Remove an endpoint from all pools, end its leases, and delete it. It must have no VM."""

    async def guard(session: AsyncSession) -> None:
        etags.check(await table.get(session, name), if_match)
        await refuse_occupied(session, [name])

    async def also(session: AsyncSession, _intent: Intent) -> None:
        await removed(session, name)

    def edit(intent: Intent) -> Intent:
        return edits.remove_endpoint(intent, name)

    return await region.changes.flow.apply(edit, f"remove endpoint {name}", also, guard, dry_run=dry_run)


def _shown(row: EndpointRow, region: Region) -> Endpoint:
    cloudlet = region.intent.cloudlets[row.cloudlet]
    target = site_target(region.fabric.asn, row.site)
    return Endpoint(
        name=row.name,
        cloudlet=row.cloudlet,
        flavour=cloudlet.pe,
        prefix=row.prefix,
        gateway=row.gateway,
        prefix6=row.prefix6,
        gateway6=row.gateway6,
        ports=row.ports,
        site=row.site,
        index=row.index,
        rt=target,
        rd=target,
        vni=row.vni,
        vtep=cloudlet.vtep,
        mtu=row.mtu,
        lease_seconds=row.lease_seconds,
        max_routes=row.max_routes,
        tenant=row.tenant,
        consent=Consent(
            state=state(region.intent, row.name, before=row.consent_at is not None),
            by=row.consented_by,
            at=row.consent_at,
        ),
        capacity=AddressPlan.of(row.prefix, row.prefix6).capacity,
        vcps=sorted(region.intent.pools_of.get(row.name, ())),
        created_at=row.created_at,
    )
