"""Configurations of PEs that have no agent."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.types import NamePath
from controller.pe.configuration import configuration
from controller.wire.dialects import Dialect, tried

router = APIRouter(prefix="/api/v1/cloudlets/{name}/configuration", tags=["cloudlets"], dependencies=[Operator])


class PeConfiguration(BaseModel):
    """The configuration of a cloudlet's PE. `tested`: Weft's tests run such a one; the others follow the
    documentation of their vendors or projects."""

    cloudlet: str
    dialect: Dialect
    tested: bool
    text: str


@router.get("", responses=errors(404, 409), summary="Write the configuration of an unmanaged PE")
async def show(
    name: NamePath, region: Running, dialect: Annotated[Dialect, Query(alias="for", description="Whose words.")]
) -> PeConfiguration:
    """Return what the PE of an unmanaged cloudlet needs: its BGP sessions with the route servers, and its endpoints.
    Each endpoint that is added or goes changes it."""
    signed = region.route_servers.session_keys.standing(name) or {}
    text = configuration(region.intent, name, region.fabric, dialect, signed)
    known = tried(dialect, region.intent.cloudlets[name].pe)
    return PeConfiguration(cloudlet=name, dialect=dialect, tested=known, text=text)
