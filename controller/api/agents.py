"""What agents call: the desired state as a stream, reports, leases on behalf of DHCP clients."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Header, Request
from starlette.responses import StreamingResponse

from controller.api import streams
from controller.api.access import Agent, Newcomer, Running, prove, shown
from controller.api.openapi import errors
from controller.api.streams import CONTENT
from controller.core.addresses import AddressPlan
from controller.core.desired import desired
from controller.core.event_budget import of_cloudlet
from controller.core.filters import access
from controller.core.filters import pools as ruled_pools
from controller.core.intent import Cloudlet, Endpoint, State
from controller.core.names import printable
from controller.core.neighbours import candidates
from controller.core.refusals import Refused, invalid
from controller.core.report_news import news
from controller.core.unavailable import Unavailable
from controller.db import filters as table
from controller.identity.tls_peer import TlsPeer
from controller.region import Region
from controller.runtime.problems import FieldError, Problem
from controller.trust.authority import AuthorityAway
from controller.wire.access import AccessReport
from controller.wire.certificates import Authorities, CertificateRequest, Certified
from controller.wire.delegations import Exchange, Exchanged
from controller.wire.desired import Desired
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from controller.wire.moves import MoveReport, Orders
from controller.wire.names import CLIENT_ID_PATTERN, MAC_PATTERN
from controller.wire.neighbours import NeighbourReport
from controller.wire.reports import Report
from controller.wire.session_keys import SessionKeysHeld
from controller.wire.sightings import SightingReport

router = APIRouter(prefix="/api/v1/agent", tags=["agents"])

FOLLOWED = (
    "Events named `desired`, whose id is the version, and, without an id, `candidates` (whom to probe) and `orders` "
    "(what to do about moves of VMs), `authorities` (whom to trust), `revocations` (whose certificates are good for "
    "nothing), `access` (what to filter) and, over TLS alone, `session-keys` (what BGP sessions are signed with)."
)


@router.get(
    "/desired",
    response_class=StreamingResponse,
    responses=errors() | {200: {"content": CONTENT, "description": FOLLOWED}},
    summary="Follow the desired state",
)
async def follow(
    request: Request,
    region: Running,
    cloudlet: Newcomer,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=40)] = None,
) -> StreamingResponse:
    """The current document at once, unless `Last-Event-ID` is its version; then every new one. Documents that were
    overtaken while one was being sent are left out. Beside them, whom to probe, what to do about moves, and what was
    revoked: at the beginning and with every change, after the desired state; and what to filter, ahead of it. Who waits
    for approval needs no certificate, and follows until then."""
    waits = _waits(cloudlet, shown(request))
    if not waits:
        await prove(request, region, cloudlet)

    async def still(present: Cloudlet) -> bool:
        if waits:
            return _waits(present, shown(request))
        try:
            return await region.proofs.reason(present, shown(request)) is None
        except Unavailable:
            return True

    private = shown(request) is not None
    return streams.respond(_documents(region, cloudlet, streams.last_id(last_event_id), still, private=private))


def _waits(cloudlet: Cloudlet, shown: TlsPeer | None) -> bool:
    return cloudlet.state is State.PENDING and shown is not None and shown.peer is None


Still = Callable[[Cloudlet], Awaitable[bool]]


async def _documents(
    region: Region, cloudlet: Cloudlet, sent: int | None, still: Still, *, private: bool
) -> AsyncIterator[bytes]:
    keyed = None
    filtered, pools = None, None
    announced, told = -1, None
    ordered, asked = -1, None
    listed, trusts = -1, None
    with region.agents.attend(cloudlet.name) as wake:
        yield streams.OPENING
        while True:
            present = region.intent.cloudlets.get(cloudlet.name)
            if present is None:
                yield _event(_farewell(region, cloudlet))
                return
            if present.credential != cloudlet.credential or not await still(present):
                return
            ruled = _ruled(region, present)
            if ruled != pools:
                pools, rules = ruled, access(region.intent, present)
                if filtered is None or rules.lans != filtered:  # at the beginning in any case
                    filtered = rules.lans
                    yield streams.event("access", None, rules.model_dump_json())
                    continue
            if present.version != sent:
                yield _event(desired(region.intent, present, region.fabric))
                sent = present.version
                if region.intent.cloudlets.get(cloudlet.name) is not present:
                    continue
            keys = region.session_keys.document(present) if private else None
            if keys is not None and keys != keyed:
                keyed = keys
                yield streams.event("session-keys", None, keys.model_dump_json())
                continue
            if announced != (announced := region.agents.of(cloudlet.name).announced):
                document = candidates(region.intent, cloudlet.name)
                if document != told:
                    told = document
                    yield streams.event("candidates", None, told.model_dump_json())
                    continue
            if ordered != (now := region.agents.of(cloudlet.name).ordered):
                orders = await _orders(region, cloudlet)
                ordered = now if orders is not None else -1
                if orders is not None and orders != asked:
                    asked = orders
                    # An older agent refuses fields that it does not know, be they null.
                    yield streams.event("orders", None, orders.model_dump_json(exclude_none=True))
                    continue
            if listed != (number := region.revocations.number):
                try:
                    revocations = await region.revocations.document()
                except (Unavailable, AuthorityAway):
                    revocations = None  # it is asked for again with the next heartbeat
                else:
                    listed = number
                if (trusted := region.revocations.authorities) is not None and trusted != trusts:
                    trusts = trusted
                    yield streams.event("authorities", None, Authorities(authorities=trusted).model_dump_json())
                if revocations is not None:
                    yield streams.event("revocations", None, revocations.model_dump_json())
                    continue
            match await streams.woken(wake, region.stopping):
                case False:
                    return
                case None:
                    yield streams.COMMENT


def _ruled(region: Region, cloudlet: Cloudlet) -> object:
    """All that decides what the cloudlet filters."""
    endpoints = region.intent.endpoints_of.get(cloudlet.name, ())
    return cloudlet.speaks, ruled_pools(region.intent, [endpoint.name for endpoint in endpoints])


async def _orders(region: Region, cloudlet: Cloudlet) -> Orders | None:
    """What the cloudlet is to do about moves; None as long as the database is away."""
    try:
        return await region.moves.orders(cloudlet.name)
    except Unavailable:
        return None


def _event(document: Desired) -> bytes:
    # What a release added has a default, and is sent where it is used: an agent refuses fields that it does not know.
    return streams.event("desired", document.version, document.model_dump_json(exclude_defaults=True))


def _farewell(region: Region, cloudlet: Cloudlet) -> Desired:
    """The last word to a cloudlet that was removed: be nothing."""
    return Desired(
        version=region.intent.generation,
        generation=region.intent.generation,
        cloudlet=cloudlet.name,
        asn=region.fabric.asn,
        router_id=cloudlet.vtep,
        vtep=cloudlet.vtep,
        speakers=[],
        endpoints=[],
    )


@router.post("/reports", status_code=204, responses=errors(), summary="Report what is")
async def report(body: Report, region: Running, cloudlet: Agent) -> None:
    """The whole truth about the cloudlet's kernel; confirms the changes that it shows."""
    if body.cloudlet != cloudlet.name:
        message = f"this credential is {cloudlet.name}'s"
        raise Problem(403, "A report about another cloudlet.", [FieldError(field="cloudlet", message=message)])
    before = region.agents.of(cloudlet.name).report
    problems = region.agents.report(body)
    region.tunnels.take(cloudlet.name, body.ipsec)
    source = of_cloudlet(cloudlet.name)
    if problems is not None:
        text = "; ".join(problems) or "all well again"
        region.event_log.note(
            "agent-problems", cloudlet.name, f"{cloudlet.name}: {text}", caused_by=source, problems=problems
        )
    for told in news(before, body):
        region.event_log.note(told.type, cloudlet.name, told.text, caused_by=source, **told.data)


@router.post("/session-keys", status_code=204, responses=errors(503), summary="Say which keys sessions have")
async def session_keys(body: SessionKeysHeld, region: Running, cloudlet: Agent) -> None:
    """What the agent has made of the last `session-keys`. Answered when the database has it."""
    if body.cloudlet != cloudlet.name:
        message = f"this credential is {cloudlet.name}'s"
        raise Problem(403, "A report about another cloudlet.", [FieldError(field="cloudlet", message=message)])
    await region.session_keys.take(cloudlet, body)


@router.post("/certificate", responses=errors(404, 409, 503), summary="Ask for a certificate")
async def certificate(body: CertificateRequest, request: Request, region: Running, cloudlet: Newcomer) -> Certified:
    """The next one, for the key of the request; over TLS, for the key of the one that is shown, or the first one. 404:
    none are issued here; 409: not to this cloudlet now."""
    seen = shown(request)
    if seen is None or seen.peer is not None:
        await prove(request, region, cloudlet)
    try:
        return await region.certificates.renew(cloudlet, body.csr, seen)
    except Refused as refused:
        region.proofs.refusals.note(cloudlet.name, refused.message)
        raise


@router.post("/neighbours", status_code=204, responses=errors(503), summary="Report on neighbours")
async def neighbours(body: NeighbourReport, region: Running, cloudlet: Agent) -> None:
    """Rounds of probes. Answered when the database has them; what is not answered is to be sent again."""
    if body.cloudlet != cloudlet.name:
        message = f"this credential is {cloudlet.name}'s"
        raise Problem(403, "A report about another cloudlet.", [FieldError(field="cloudlet", message=message)])
    await region.neighbours.take(body)


@router.post("/moves", status_code=204, responses=errors(409), summary="Report on moves")
async def moves(body: MoveReport, region: Running, cloudlet: Agent) -> None:
    """How far orders are, and all machines of the cloudlet. Answered when the database has it. 409: an order that was
    to begin is not there any more; the rest of the report is taken in."""
    if body.cloudlet != cloudlet.name:
        message = f"this credential is {cloudlet.name}'s"
        raise Problem(403, "A report about another cloudlet.", [FieldError(field="cloudlet", message=message)])
    await region.moves.report(cloudlet.name, body)


@router.post("/access", status_code=204, responses=errors(503), summary="Say what access rules have counted")
async def counted(body: AccessReport, region: Running, cloudlet: Agent) -> None:
    """Of all filters in the cloudlet's kernel. Answered when the database has it."""
    if body.cloudlet != cloudlet.name:
        message = f"this credential is {cloudlet.name}'s"
        raise Problem(403, "A report about another cloudlet.", [FieldError(field="cloudlet", message=message)])
    async with region.database.write() as session:
        before = await table.load(session, [cloudlet.name])
        await table.save(session, body)
    region.impostors.look(before[cloudlet.name][0] if before else None, body)


@router.post("/sightings", status_code=204, responses=errors(), summary="Say where devices were seen")
async def sightings(body: SightingReport, region: Running, cloudlet: Agent) -> None:
    """Of the cloudlet's own LANs only: nobody says of another's that a device is there."""
    if body.cloudlet != cloudlet.name:
        message = f"this credential is {cloudlet.name}'s"
        raise Problem(403, "A report about another cloudlet.", [FieldError(field="cloudlet", message=message)])
    for name in {sighting.endpoint for sighting in body.sightings} & region.intent.endpoints.keys():
        _own(region, cloudlet, name)
    await region.sightings.take(body)


@router.post("/leases", responses=errors(404, 409), summary="Grant or renew a lease")
async def lease(body: LeaseRequest, region: Running, cloudlet: Agent) -> LeaseGrant:
    """The same client gets the same address. Somebody unknown becomes a device of its own."""
    endpoint = _own(region, cloudlet, body.endpoint)
    mac, client_id = _identity(body)
    hostname = printable(body.hostname or "", 255) or None
    held, fresh = await region.leases.ask(endpoint.name, mac, client_id, hostname)
    if fresh:
        region.metrics.leases.inc()
    return LeaseGrant(
        address=held.address,
        prefix_length=AddressPlan.of(endpoint.prefix).network.prefixlen,
        gateway=endpoint.gateway,
        kind=held.kind,
        device=held.device,
        seconds=region.leases.seconds(endpoint),
    )


@router.post("/leases/exchange", responses=errors(409), summary="Account for delegated ranges")
async def exchange(body: Exchange, region: Running, cloudlet: Agent) -> Exchanged:
    """What has changed, what is needed, and who is unknown, in one go; see `controller/wire/delegations.py`."""
    endpoint = _own(region, cloudlet, body.endpoint)
    answer, fresh = await region.delegations.exchange(endpoint, body)
    region.metrics.leases.inc(fresh)
    return answer


@router.post("/leases/release", status_code=204, responses=errors(404), summary="Give a lease back")
async def release(body: LeaseRelease, region: Running, cloudlet: Agent) -> None:
    """Nothing happens if the client does not hold the address."""
    endpoint = _own(region, cloudlet, body.endpoint)
    mac, client_id = _identity(body)
    await region.leases.give_back(endpoint.name, printable(body.address, 45), mac, client_id)


def _own(region: Region, cloudlet: Cloudlet, name: str) -> Endpoint:
    endpoint = region.intent.endpoints.get(name)
    if endpoint is None or endpoint.cloudlet != cloudlet.name:
        raise invalid("endpoint", f"{cloudlet.name} has no endpoint {name!r}")
    return endpoint


def _identity(message: LeaseRequest | LeaseRelease) -> tuple[str, str | None]:
    """The client's MAC and client id in the form they are kept in."""
    mac, client_id = message.mac.lower(), message.client_id.lower() if message.client_id else None
    if not _fits(MAC_PATTERN, mac):
        raise invalid("mac", "not of the form 02:00:5e:00:00:01")
    if client_id is not None and not _fits(CLIENT_ID_PATTERN, client_id):
        raise invalid("client_id", "not 1 to 255 octets in hex")
    return mac, client_id


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None and not text.endswith("\n")
