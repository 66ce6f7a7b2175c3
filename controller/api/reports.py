"""Agents' last reports, for operators."""

from fastapi import APIRouter
from pydantic import BaseModel

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.types import NamePath
from controller.core.refusals import missing
from controller.wire.reports import Report

router = APIRouter(prefix="/api/v1/cloudlets/{name}/report", tags=["cloudlets"], dependencies=[Operator])


class LastReport(BaseModel):
    """The last report of a cloudlet's agent, null if there is none, and whether that agent is connected now."""

    cloudlet: str
    connected: bool
    report: Report | None


@router.get("", responses=errors(404), summary="Show the last report of an agent")
async def show(name: NamePath, region: Running) -> LastReport:
    """Return the state of the cloudlet's kernel as its agent reported it last."""
    if name not in region.intent.cloudlets:
        raise missing("cloudlet", name, region.intent.cloudlets)
    presence = region.replication.presence
    return LastReport(cloudlet=name, connected=presence.connected(name), report=await presence.report(name))
