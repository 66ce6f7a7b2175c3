"""Agents' reports, and their certificate requests."""

from typing import Protocol

from fastapi import APIRouter, Request

from controller.api.access import Agent, Newcomer, Running, prove, shown
from controller.api.agent_leases import own_endpoint
from controller.api.openapi import errors
from controller.api.types import NamePath
from controller.core.event_budget import of_cloudlet
from controller.core.intent import Cloudlet
from controller.core.refusals import Refused
from controller.core.report_news import news
from controller.db import filters as table
from controller.runtime.problems import FieldError, Problem
from controller.wire.access import AccessReport
from controller.wire.certificates import CertificateRequest, Certified
from controller.wire.images import ImageReport, ImageSources
from controller.wire.moves import MoveReport
from controller.wire.neighbours import NeighbourReport
from controller.wire.probes import ProbeReport
from controller.wire.reports import Report
from controller.wire.session_keys import SessionKeysHeld
from controller.wire.sightings import SightingReport

router = APIRouter(prefix="/api/v1/agent", tags=["agents"])


@router.post("/reports", status_code=204, responses=errors(), summary="Report what is")
async def report(body: Report, region: Running, cloudlet: Agent) -> None:
    """Take a report with the whole state of the cloudlet's kernel; it confirms the changes that it shows."""
    _own(body, cloudlet)
    before = region.agents.registry.of(cloudlet.name).report
    problems = region.agents.registry.report(body)
    region.agents.tunnels.take(cloudlet.name, body.ipsec)
    source = of_cloudlet(cloudlet.name)
    if problems is not None:
        text = "; ".join(problems) or "all well again"
        region.runtime.event_log.note(
            "agent-problems", cloudlet.name, f"{cloudlet.name}: {text}", caused_by=source, problems=problems
        )
    for told in news(before, body):
        region.runtime.event_log.note(told.type, cloudlet.name, told.text, caused_by=source, **told.data)


@router.post("/session-keys", status_code=204, responses=errors(503), summary="Say which keys sessions have")
async def session_keys(body: SessionKeysHeld, region: Running, cloudlet: Agent) -> None:
    """Take the agent's report on the last `session-keys`. The answer comes once the database has it."""
    _own(body, cloudlet)
    await region.route_servers.session_keys.take(cloudlet, body)


@router.post("/probes", status_code=204, responses=errors(), summary="Report the results of probes")
async def probes(body: ProbeReport, region: Running, cloudlet: Agent) -> None:
    """Take results of probes that the controller has asked for. Those of a verification that is over are dropped."""
    _own(body, cloudlet)
    region.replication.probes.take(body)


@router.post("/certificate", responses=errors(404, 409, 503), summary="Ask for a certificate")
async def certificate(body: CertificateRequest, request: Request, region: Running, cloudlet: Newcomer) -> Certified:
    """Issue the next certificate, for the key of the request. Over TLS, that must be the key of the certificate that
    the connection shows, except for the first certificate. 404: this controller issues none; 409: this cloudlet cannot
    get one now."""
    seen = shown(request)
    if seen is None or seen.peer is not None:
        await prove(request, region, cloudlet)
    try:
        return await region.identity.certificates.renew(cloudlet, body.csr, seen)
    except Refused as refused:
        region.identity.proofs.refusals.note(cloudlet.name, refused.message)
        raise


@router.post("/neighbours", status_code=204, responses=errors(503), summary="Report on neighbours")
async def neighbours(body: NeighbourReport, region: Running, cloudlet: Agent) -> None:
    """Take rounds of probes. The answer comes once the database has them; an agent repeats a report that got no
    answer."""
    _own(body, cloudlet)
    await region.agents.neighbours.take(body)


@router.post("/moves", status_code=204, responses=errors(409), summary="Report on moves")
async def moves(body: MoveReport, region: Running, cloudlet: Agent) -> None:
    """Take the progress of orders, and all machines of the cloudlet. The answer comes once the database has them. 409:
    an order that was to begin no longer exists; the rest of the report is stored."""
    _own(body, cloudlet)
    await region.migration.moves.report(cloudlet.name, body)


@router.post("/access", status_code=204, responses=errors(503), summary="Say what access rules have counted")
async def counted(body: AccessReport, region: Running, cloudlet: Agent) -> None:
    """Take the counters of all filters in the cloudlet's kernel. The answer comes once the database has them."""
    _own(body, cloudlet)
    async with region.database.write() as session:
        before = await table.load(session, [cloudlet.name])
        await table.save(session, body)
    region.agents.impostors.look(before[cloudlet.name][0] if before else None, body)


@router.post("/images", status_code=204, responses=errors(503), summary="Report on images")
async def images(body: ImageReport, region: Running, cloudlet: Agent) -> None:
    """Take all images of the cloudlet. The answer comes once the database has them."""
    _own(body, cloudlet)
    await region.agents.images.take(body)


@router.get("/images/{name}/sources", responses=errors(404, 503), summary="Ask where an image can be fetched")
async def image_sources(name: NamePath, region: Running, cloudlet: Agent) -> ImageSources:
    """Return the sources of an image of the policy, in the order in which to try them: other cloudlets, the nearest
    first, then the registry. 404: the policy has no such image."""
    return await region.agents.images.sources(cloudlet.name, name)


@router.post("/sightings", status_code=204, responses=errors(), summary="Say where devices were seen")
async def sightings(body: SightingReport, region: Running, cloudlet: Agent) -> None:
    """Take sightings. They must be of the cloudlet's own LANs: an agent cannot report a device at another's."""
    _own(body, cloudlet)
    for name in {sighting.endpoint for sighting in body.sightings} & region.intent.endpoints.keys():
        own_endpoint(region, cloudlet, name)
    await region.migration.sightings.take(body)


class _About(Protocol):
    """A report of one cloudlet."""

    @property
    def cloudlet(self) -> str: ...


def _own(body: _About, cloudlet: Cloudlet) -> None:
    """Raise Problem if an agent reports on another cloudlet than its own."""
    if body.cloudlet != cloudlet.name:
        message = f"this credential is {cloudlet.name}'s"
        raise Problem(403, "A report about another cloudlet.", [FieldError(field="cloudlet", message=message)])
