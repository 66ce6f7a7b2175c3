"""What agents call: the desired state as a stream, reports, leases on behalf of DHCP clients."""

import re
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import StreamingResponse

from controller.api import streams
from controller.api.access import Agent, Running
from controller.api.openapi import errors
from controller.api.streams import CONTENT
from controller.core.addresses import AddressPlan
from controller.core.desired import desired
from controller.core.intent import Cloudlet, Endpoint
from controller.core.names import CLIENT_ID_PATTERN, MAC_PATTERN
from controller.core.refusals import invalid
from controller.problems import FieldError, Problem
from controller.region import Region
from controller.wire.desired import Desired
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from controller.wire.reports import Report

router = APIRouter(prefix="/api/v1/agent", tags=["agents"])


@router.get(
    "/desired",
    response_class=StreamingResponse,
    responses=errors() | {200: {"content": CONTENT, "description": "Events named `desired`; their id is the version."}},
    summary="Follow the desired state",
)
async def follow(
    region: Running,
    cloudlet: Agent,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=40)] = None,
) -> StreamingResponse:
    """The current document at once, unless `Last-Event-ID` is its version; then every new one. Documents that were
    overtaken while one was being sent are left out."""
    return streams.respond(_documents(region, cloudlet, streams.last_id(last_event_id)))


async def _documents(region: Region, cloudlet: Cloudlet, sent: int | None) -> AsyncIterator[bytes]:
    with region.agents.attend(cloudlet.name) as wake:
        yield streams.OPENING
        while True:
            present = region.intent.cloudlets.get(cloudlet.name)
            if present is None:
                yield _event(_farewell(region, cloudlet))
                return
            if present.credential != cloudlet.credential:
                return
            if present.version != sent:
                yield _event(desired(region.intent, present, region.fabric))
                sent = present.version
                if region.intent.cloudlets.get(cloudlet.name) is not present:
                    continue
            match await streams.woken(wake, region.stopping):
                case False:
                    return
                case None:
                    yield streams.COMMENT


def _event(document: Desired) -> bytes:
    return streams.event("desired", document.version, document.model_dump_json())


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
    problems = region.agents.report(body)
    if problems is not None:
        text = "; ".join(problems) or "all well again"
        region.journal.note("agent-problems", cloudlet.name, f"{cloudlet.name}: {text}", problems=problems)


@router.post("/leases", responses=errors(404, 409), summary="Grant or renew a lease")
async def lease(body: LeaseRequest, region: Running, cloudlet: Agent) -> LeaseGrant:
    """The same client gets the same address. Somebody unknown becomes a device of its own."""
    endpoint = _own(region, cloudlet, body.endpoint)
    mac, client_id = _identity(body)
    hostname = _printable(body.hostname)
    held, fresh = await region.leases.ask(endpoint.name, mac, client_id, hostname)
    if fresh:
        region.metrics.leases.inc()
    return LeaseGrant(
        address=held.address,
        prefix_length=AddressPlan.of(endpoint.prefix).network.prefixlen,
        gateway=endpoint.gateway,
        kind=held.kind,
        device=held.device,
        seconds=endpoint.lease_seconds,
    )


@router.post("/leases/release", status_code=204, responses=errors(404), summary="Give a lease back")
async def release(body: LeaseRelease, region: Running, cloudlet: Agent) -> None:
    """Nothing happens if the client does not hold the address."""
    endpoint = _own(region, cloudlet, body.endpoint)
    mac, client_id = _identity(body)
    await region.leases.give_back(endpoint.name, body.address[:45], mac, client_id)


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


def _printable(text: str | None) -> str | None:
    """A hostname comes off the wire: only what can be shown is kept."""
    return "".join(c for c in text if c.isprintable())[:255] or None if text else None
