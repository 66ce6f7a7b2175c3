"""The ASGI application: a running region with the API on top."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version

from fastapi import FastAPI

from controller.api import (
    agents,
    changes,
    cloudlets,
    devices,
    doctor,
    endpoints,
    enrolments,
    errors,
    events,
    health,
    leases,
    members,
    openapi,
    policy,
    route_servers,
    routes,
    vcps,
)
from controller.api.bodies import Bodies
from controller.api.measured import Measured
from controller.region import running
from controller.settings import Settings

NOUNS = (
    cloudlets,
    endpoints,
    vcps,
    members,
    changes,
    devices,
    leases,
    routes,
    route_servers,
    policy,
    doctor,
    events,
    enrolments,
    agents,
)


def release() -> str:
    """The version of the installed package."""
    try:
        return version("weft")
    except PackageNotFoundError:
        return "0"


def create_app(settings: Settings) -> FastAPI:
    """The application; its lifespan is the region's. Raises nothing: bad settings show when it starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with running(settings) as region:
            app.state.region = region
            yield

    app = FastAPI(title="Weft controller", version=release(), lifespan=lifespan, redirect_slashes=False)
    errors.install(app)
    openapi.install(app)
    for noun in (*NOUNS, health):
        app.include_router(noun.router)
    app.add_middleware(Bodies, database=lambda: app.state.region.database)
    app.add_middleware(Measured, metrics=lambda: app.state.region.metrics)
    return app
