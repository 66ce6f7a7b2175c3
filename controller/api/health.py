"""Whether the controller lives, whether it can work, and its metrics. Open to all: they tell nothing of anybody."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.responses import Response

from controller.api.access import Running
from controller.metrics import MEDIA_TYPE

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """The process answers."""

    status: str = "ok"


class Readiness(BaseModel):
    """`route_servers` in step and `agents` connected are for information: a change is never refused for their sake."""

    ready: bool
    database: bool
    generation: int
    route_servers: dict[str, bool]
    agents: int


@router.get("/healthz", summary="Liveness")
async def health() -> Health:
    """Answers while the process does."""
    return Health()


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "Not ready."}},
    summary="Readiness",
)
async def ready(region: Running) -> Response:
    """Ready when the database answers and the controller is not stopping."""
    database = await region.database.answers()
    state = Readiness(
        ready=database and not region.stopping.is_set(),
        database=database,
        generation=region.intent.generation,
        route_servers={server.name: server.reachable for server in region.changes.route_servers},
        agents=region.agents.connected,
    )
    return JSONResponse(state.model_dump(mode="json"), 200 if state.ready else 503)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="Prometheus metrics",
)
async def metrics(region: Running) -> Response:
    """In the exposition format."""
    gauges, intent = region.metrics, region.intent
    gauges.generation.set(intent.generation)
    gauges.agents.set(region.agents.connected)
    gauges.cloudlets.set(len(intent.cloudlets))
    gauges.endpoints.set(len(intent.endpoints))
    gauges.vcps.set(len(intent.vcps))
    gauges.lost_events.set(region.journal.dropped)
    for server in region.changes.route_servers:
        gauges.route_server.labels(server.name).set(server.reachable)
    return Response(gauges.text(), media_type=MEDIA_TYPE)
