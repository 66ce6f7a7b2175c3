"""The ASGI application: a running region with the API on top."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import product

from fastapi import FastAPI
from fastapi.routing import APIRoute

from controller.api import (
    addresses,
    agent_leases,
    agent_stream,
    agents,
    audit,
    birdwatcher,
    certificates,
    changes,
    cloudlet_alterations,
    cloudlets,
    consents,
    delegations,
    description,
    device_alterations,
    devices,
    doctor,
    documentation,
    endpoint_alterations,
    endpoints,
    enrolments,
    errors,
    evacuations,
    events,
    filters,
    health,
    held,
    images,
    inventory,
    inventory_revisions,
    leases,
    manual,
    members,
    moves,
    neighbours,
    pe_configurations,
    peer_sessions,
    policy,
    policy_revisions,
    predictions,
    replicas,
    reports,
    reservations,
    route_counts,
    route_lookups,
    route_servers,
    routes,
    scheduled_moves,
    sessions,
    settings,
    sightings,
    static_hosts,
    summary,
    tokens,
    tunnels,
    vcps,
    verification,
    vms,
    webhooks,
    whoami,
)
from controller.api.middleware.audit import Audit
from controller.api.middleware.body_limits import BodyLimits
from controller.api.middleware.idempotency import Idempotency
from controller.api.middleware.rate_limit import RateLimit
from controller.api.middleware.request_head import RequestHead
from controller.api.middleware.request_id import RequestId
from controller.api.middleware.request_metrics import RequestMetrics
from controller.api.middleware.traces import Traces
from controller.region import running
from controller.server.response_headers import ResponseHeaders
from controller.settings import Settings
from controller.wire.release import release

NOUNS = (
    agent_leases,  # agents first, since they send the most requests and paths are matched in this order
    agents,
    agent_stream,
    cloudlets,
    cloudlet_alterations,
    pe_configurations,
    reports,
    endpoints,
    endpoint_alterations,
    consents,
    vcps,
    members,
    changes,
    devices,
    device_alterations,
    vms,
    images,
    predictions,
    scheduled_moves,
    moves,
    evacuations,
    leases,
    delegations,
    neighbours,
    tunnels,
    sightings,
    addresses,
    static_hosts,
    reservations,
    routes,
    held,
    route_counts,
    route_lookups,
    peer_sessions,
    route_servers,
    policy,
    policy_revisions,
    inventory,
    inventory_revisions,
    filters,
    doctor,
    verification,
    replicas,
    settings,
    events,
    whoami,
    summary,
    webhooks,
    tokens,
    audit,
    enrolments,
    certificates,
    birdwatcher,
)


def create_app(settings: Settings) -> FastAPI:
    """Return the application; its lifespan runs the region. Raises nothing: bad settings raise when the lifespan
    starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with running(settings) as region:
            region.runtime.metrics.expect(failures(app))
            app.state.region = region
            yield

    app = FastAPI(
        title="Weft controller", version=release(), lifespan=lifespan, redirect_slashes=False, openapi_url=None
    )
    errors.install(app)
    description.install(app)
    documentation.install(app)
    manual.install(app, settings.manual)
    app.state.counts = summary.Counts()
    for noun in (*NOUNS, health, sessions):
        app.router.routes.extend(noun.router.routes)  # FastAPI's own way rebuilds each route at start: 0.3 s
    app.add_middleware(Audit, database=lambda: app.state.region.database)
    app.add_middleware(Idempotency, region=lambda: app.state.region)
    app.add_middleware(BodyLimits, region=lambda: app.state.region)
    app.add_middleware(
        RateLimit, region=lambda: app.state.region, rate=settings.caller_rate, strangers=settings.stranger_rate
    )
    app.add_middleware(RequestHead)
    app.add_middleware(RequestMetrics, metrics=lambda: app.state.region.runtime.metrics)
    app.add_middleware(ResponseHeaders)
    app.add_middleware(Traces)
    app.add_middleware(RequestId)
    return app


def failures(app: FastAPI) -> Iterator[tuple[str, str, str]]:
    """Yield the method, path and status of each failure of the controller that the API's description declares."""
    for route in app.router.routes:
        if isinstance(route, APIRoute):
            for method, status in product(sorted(route.methods or ()), map(str, route.responses)):
                if status.startswith("5"):
                    yield method, route.path, status
