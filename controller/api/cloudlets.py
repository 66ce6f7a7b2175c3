"""Cloudlets: invite, approve, drain, remove."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import etags, pages
from controller.api.access import Operator, Running
from controller.api.changes import DryRun
from controller.api.etags import ETAG, IfMatch
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, Name, NamePath, Text
from controller.changes.flow import Edit, Guard
from controller.changes.outcomes import ChangeResult
from controller.changes.policies import by_proximity
from controller.core import edits, tokens
from controller.core.alterations import MOST_LABELS
from controller.core.clock import now
from controller.core.intent import Cloudlet as Wanted
from controller.core.intent import CloudletState, Intent
from controller.core.policy.model import Rules
from controller.core.proximity.reach import reach
from controller.core.refusals import conflict, invalid, missing
from controller.db import cloudlets as table
from controller.db import events
from controller.db.cloudlets import CloudletRow
from controller.inventory.cloudlets import EnrolmentToken, added, removed
from controller.migration.vms import refuse_occupied, refuse_running
from controller.region import Region
from controller.wire.flavours import Flavour

router = APIRouter(prefix="/api/v1/cloudlets", tags=["cloudlets"], dependencies=[Operator])

TokenSeconds = Annotated[int, Field(ge=1, le=30 * 86400, description="How long the token is good for.")]
Vtep = Annotated[str, Field(max_length=45, description="IPv4 address of tunnels and BGP sessions.")]
Asn = Annotated[int | None, Field(ge=1, le=4294967294, description="The PE's AS number; null: the region's.")]
TtlSecurity = Annotated[int | None, Field(ge=1, le=255, description="Greatest distance in hops (RFC 5082).")]
Latitude = Annotated[float | None, Field(ge=-90, le=90, description="WGS-84 degrees.")]
Longitude = Annotated[float | None, Field(ge=-180, le=180, description="WGS-84 degrees.")]
EXAMPLE: JsonDict = {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1", "labels": {"city": "turin"}}


class NewCloudlet(Body):
    """A cloudlet to invite. With `approval`, the cloudlet waits after its agent's enrolment until an operator approves
    it. One that is `unmanaged` has a PE without an agent, and takes part at once; only such a PE has an AS number or a
    distance of its own."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Name
    pe: Flavour
    vtep: Vtep
    unmanaged: bool = False
    asn: Asn = None
    ttl_security: TtlSecurity = None
    approval: bool = False
    token_seconds: TokenSeconds = 3600
    labels: Annotated[dict[Name, Text], Field(max_length=MOST_LABELS)] = Field(default_factory=dict)
    latitude: Latitude = None
    longitude: Longitude = None


class AgentState(BaseModel):
    """The state of a cloudlet's agent. `generation` is that of the last desired state that the agent reported as
    reached."""

    connected: bool
    last_seen: datetime | None
    version: str | None
    generation: int | None


class Cloudlet(BaseModel):
    """One edge site. `sessions` says how its BGP sessions are signed, by route server; null if they are not signed
    here. `reach_m` is how many metres away another cloudlet is near this one, at a round trip of 0, by the policy's
    `proximity`; null without a place, or if the policy makes no pools by proximity."""

    name: str
    pe: Flavour
    vtep: str
    unmanaged: bool
    asn: int | None
    ttl_security: int | None
    state: CloudletState
    approval: bool
    labels: dict[str, str]
    latitude: float | None
    longitude: float | None
    reach_m: float | None
    created_at: datetime
    endpoints: list[str]
    agent: AgentState
    sessions: dict[str, str] | None


class Invitation(Cloudlet):
    """A cloudlet and its one-time token. The token is shown only here; a repetition by Idempotency-Key shows null. An
    unmanaged cloudlet has none."""

    token: str | None
    token_expires_at: datetime | None


class Rekey(Body):
    """A request for new session keys. `off`: sessions are no longer signed. Use it before an agent goes back to a
    release without keys."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"off": False}]})

    off: bool = False


class Rekeyed(BaseModel):
    """`keys` are those of an unmanaged PE, by route server, which its operator gives it. They are shown only here; a
    repetition by Idempotency-Key shows null. Agents fetch theirs."""

    keys: dict[str, str] | None


class TokenRequest(Body):
    """A request for a new one-time token; the token before becomes void."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"token_seconds": 600}]})

    token_seconds: TokenSeconds = 3600


@router.post("", status_code=201, responses=errors(409) | {201: {"headers": ETAG}}, summary="Invite a cloudlet")
async def create(body: NewCloudlet, region: Running, response: Response) -> Invitation:
    """Create a cloudlet and a one-time token with which its agent enrols, unless it is unmanaged."""
    if body.unmanaged and body.approval:
        raise invalid("approval", f"the PE of {body.name} has no agent that could wait for approval")
    token = None
    if not body.unmanaged:
        token = EnrolmentToken(tokens.new_secret(), now() + timedelta(seconds=body.token_seconds), body.approval)

    def edit(intent: Intent) -> Intent:
        more = body.model_dump(include={"labels", "latitude", "longitude", "unmanaged", "asn", "ttl_security"})
        return edits.add_cloudlet(intent, Wanted(body.name, body.pe, body.vtep, **more), speakers(region))

    async def also(session: AsyncSession, _intent: Intent) -> None:
        await added(session, body.name, token)

    await region.changes.flow.make(edit, f"{'add' if body.unmanaged else 'invite'} {body.name}", also)
    return await _invitation(region, body.name, token.token if token else None, response)


@router.get("", responses=errors(), summary="List cloudlets")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Cloudlet]:
    """Return cloudlets, sorted by name."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after(cursor), limit + 1)
    return pages.page(rows, limit, lambda row: row.name, lambda row: Cloudlet(**_shown(row, region)))


@router.get("/{name}", responses=errors(404) | {200: {"headers": ETAG}}, summary="Show a cloudlet")
async def show(name: NamePath, region: Running, response: Response) -> Cloudlet:
    """Return a cloudlet with the state of its agent."""
    row = await _row(region, name)
    response.headers["ETag"] = etags.etag(row)
    return Cloudlet(**_shown(row, region))


@router.post("/{name}/token", responses=errors(404, 412), summary="Make a new one-time token")
async def new_token(
    name: NamePath, region: Running, response: Response, body: TokenRequest | None = None, if_match: IfMatch = None
) -> Invitation:
    """Create a token for an agent that lost its token or its credential. The present credential stays valid until the
    new token is used."""
    seconds = (body or TokenRequest()).token_seconds
    token, expires = tokens.new_secret(), now() + timedelta(seconds=seconds)
    async with region.database.write() as session:
        row = await table.get(session, name, lock=True)
        if row is None:
            raise missing("cloudlet", name, region.intent.cloudlets)
        etags.check(row, if_match)
        if row.unmanaged:
            raise conflict(f"{name} is unmanaged: it has no agent that could enrol")
        await table.amend(session, name, token=tokens.digest(token), token_expires_at=expires, token_used_at=None)
        await events.add(session, "cloudlet-token", name, f"a new token was made for cloudlet {name}")
    region.runtime.wakeup.ring()
    return await _invitation(region, name, token, response)


@router.post("/{name}/session-keys", responses=errors(404, 409), summary="Sign with another key")
async def rekey(name: NamePath, region: Running, body: Rekey | None = None) -> Rekeyed:
    """Give the BGP sessions of the cloudlet's PE another key, one route server after the other; with `off`, end signing
    at once. The keys of an unmanaged PE are in force at once, and the answer shows them."""
    return Rekeyed(keys=await region.route_servers.session_keys.rekey(name, off=body is not None and body.off))


@router.post("/{name}/approve", responses=errors(404, 409, 412), summary="Approve a cloudlet")
async def approve(name: NamePath, region: Running, response: Response, if_match: IfMatch = None) -> Cloudlet:
    """Make a cloudlet active: one that waits for approval, one that was drained, or one whose PE has no agent."""
    await _change(region, name, "approve", "approved", lambda intent: edits.approve(intent, name), if_match)
    return await show(name, region, response)


@router.post("/{name}/drain", responses=errors(404, 409, 412), summary="Drain a cloudlet")
async def drain(
    name: NamePath,
    region: Running,
    dry_run: DryRun = False,
    if_match: IfMatch = None,
    force: Annotated[bool, Query(description="Also one where VMs run: they cannot be moved away any more.")] = False,
) -> ChangeResult:
    """Remove all endpoints of the cloudlet from all pools, and keep them out; its own LANs continue. Move VMs away
    first: a VM moves within a pool."""

    def edit(intent: Intent) -> Intent:
        return edits.drain(intent, name)

    async def empty(session: AsyncSession) -> None:
        if not force:
            await refuse_running(session, name, [lan.name for lan in region.intent.endpoints_of.get(name, ())])

    return await _change(region, name, "drain", "drained", edit, if_match, empty, dry_run=dry_run)


@router.delete("/{name}", responses=errors(404, 409, 412), summary="Remove a cloudlet")
async def remove(name: NamePath, region: Running, dry_run: DryRun = False, if_match: IfMatch = None) -> ChangeResult:
    """Remove a cloudlet and its endpoints, none of which may be in a pool or have a VM."""

    def edit(intent: Intent) -> Intent:
        return edits.remove_cloudlet(intent, name)

    async def guard(session: AsyncSession) -> None:
        etags.check(await table.get(session, name), if_match)
        await refuse_occupied(session, [lan.name for lan in region.intent.endpoints_of.get(name, ())])

    async def also(session: AsyncSession, _intent: Intent) -> None:
        await removed(session, name)

    result = await region.changes.flow.apply(edit, f"remove {name}", also, guard, dry_run=dry_run)
    region.identity.revocations.changed()
    return result


async def _change(
    region: Region,
    name: str,
    verb: str,
    done: str,
    edit: Edit,
    if_match: str | None,
    only: Guard | None = None,
    *,
    dry_run: bool = False,
) -> ChangeResult:
    async def guard(session: AsyncSession) -> None:
        etags.check(await table.get(session, name), if_match)
        if only is not None:
            await only(session)

    async def also(session: AsyncSession, _intent: Intent) -> None:
        await events.add(session, f"cloudlet-{done}", name, f"cloudlet {name} was {done}")

    return await region.changes.flow.apply(edit, f"{verb} {name}", also, guard, dry_run=dry_run)


def speakers(region: Region) -> list[str]:
    """Return the addresses of the route servers."""
    return [speaker.address for speaker in region.fabric.speakers]


async def _row(region: Region, name: str) -> CloudletRow:
    async with region.database.read() as session:
        row = await table.get(session, name)
    if row is None:
        raise missing("cloudlet", name, region.intent.cloudlets)
    return row


async def _invitation(region: Region, name: str, token: str | None, response: Response) -> Invitation:
    row = await _row(region, name)
    response.headers["ETag"] = etags.etag(row)
    token = pinned(region, token) if token is not None else None
    return Invitation(**_shown(row, region), token=token, token_expires_at=row.token_expires_at)


def pinned(region: Region, token: str) -> str:
    """Return a token as an agent gets it: with the authority that it may trust, where certificates are issued."""
    authority = region.identity.certificates.authority
    return tokens.pinned(token, authority.fingerprint) if authority is not None else token


_COLUMNS = (
    "name", "pe", "vtep", "unmanaged", "asn", "ttl_security", "state", "approval", "labels", "latitude", "longitude",
    "created_at",
)  # fmt: skip


def _shown(row: CloudletRow, region: Region) -> dict[str, Any]:
    agent, elsewhere = region.agents.registry.of(row.name), region.agents.registry.elsewhere.get(row.name)
    report = None if elsewhere and elsewhere.replica and not agent.connected else agent.report
    return {name: getattr(row, name) for name in _COLUMNS} | {
        "reach_m": _reach(row, region.intent.policy),
        "endpoints": [e.name for e in region.intent.endpoints_of.get(row.name, ())],
        "sessions": region.route_servers.session_keys.standing(row.name),
        "agent": AgentState(
            connected=region.replication.presence.connected(row.name),
            last_seen=max((at for at in (agent.last_seen, row.last_seen) if at), default=None),
            version=report.agent_version if report else row.agent_version,
            generation=report.generation if report else elsewhere.proved if elsewhere else None,
        ),
    }


def _reach(row: CloudletRow, rules: Rules) -> float | None:
    placed = row.latitude is not None and row.longitude is not None
    return reach(rules.proximity, row.name) if placed and by_proximity(rules) else None
