"""The controller's liveness, readiness and metrics. Open to all, because they tell nothing about anybody."""

import asyncio

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.responses import Response

from controller.api.access import Running
from controller.runtime.metrics import MEDIA_TYPE

router = APIRouter(tags=["health"])

PATIENCE = 2.0
"""Seconds within which the database must answer; otherwise the controller is not ready."""


class Health(BaseModel):
    """The process answers."""

    status: str = "ok"


class Readiness(BaseModel):
    """The readiness of a controller. `replica` is its name, `leading` whether it does the background work of all. Three
    values are for information and never refuse a change: `route_servers` in step, `agents` connected, and `policy`: the
    policy in force can be read and its tests hold."""

    ready: bool
    database: bool
    replica: str
    leading: bool
    generation: int
    route_servers: dict[str, bool]
    agents: int
    policy: bool


@router.get("/healthz", summary="Liveness")
async def health() -> Health:
    """Answer while the process runs."""
    return Health()


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "Not ready."}},
    summary="Readiness",
)
async def ready(region: Running) -> Response:
    """Return the readiness: the database answers and the controller is not stopping."""
    try:
        async with asyncio.timeout(PATIENCE):
            database = await region.database.answers()
    except TimeoutError:
        database = False
    state = Readiness(
        ready=database and not region.runtime.stopping.is_set(),
        database=database,
        replica=region.replication.replicas.name,
        leading=region.replication.leadership.leading,
        generation=region.intent.generation,
        route_servers={server.name: server.reachable for server in region.route_servers.syncs},
        agents=region.agents.registry.connected,
        policy=region.changes.drift.found.well,
    )
    return JSONResponse(state.model_dump(mode="json"), 200 if state.ready else 503)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="Prometheus metrics",
)
async def metrics(region: Running) -> Response:
    """Return the metrics in the exposition format."""
    gauges, intent = region.runtime.metrics, region.intent
    gauges.generation.set(intent.generation)
    gauges.leading.set(region.replication.leadership.leading)
    gauges.agents.set(region.agents.registry.connected)
    gauges.agents_expected.set(sum(one.managed for one in intent.cloudlets.values()))
    gauges.cloudlets.set(len(intent.cloudlets))
    gauges.endpoints.set(len(intent.endpoints))
    gauges.vcps.set(len(intent.vcps))
    gauges.lost_events.set(region.runtime.event_log.dropped)
    for server in region.route_servers.syncs:
        gauges.route_server.labels(server.name).set(server.reachable)
    return Response(gauges.text(), media_type=MEDIA_TYPE)
