"""The API against its own description: random requests, in this process, with a fixed seed."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from schemathesis import GenerationMode, checks
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks as openapi_checks

from controller.api.access import TRUSTED
from controller.app import create_app
from controller.core.intent import Cloudlet, State
from controller.core.tokens import digest
from controller.settings import Settings
from controller.wire.flavours import Flavour
from tests.unit.controller.conftest import DATABASES, new_database

CREDENTIAL = "a-credential-for-tests"
CHECKS = (
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.negative_data_rejection,
)


class Client:
    """Calls the application from outside its event loop, which runs in a thread of its own."""

    def __init__(self, http: httpx.AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
        self._http, self._loop = http, loop

    def request(self, method: str, url: str, **more: Any) -> httpx.Response:
        call = self._http.request(method, url, **more)
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(30)


@contextmanager
def running(url: str) -> Iterator[Client]:
    """A controller without route servers, everything from a trusted caller that is also an agent."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    inner = create_app(Settings(database_url=url, agent_timeout=0.05))
    lifespan = inner.router.lifespan_context(inner)

    async def trusted(scope: Any, receive: Any, send: Any) -> None:
        scope[TRUSTED] = True
        scope["headers"] += [(b"authorization", f"Bearer {CREDENTIAL}".encode())]
        await inner(scope, receive, send)

    async def start() -> httpx.AsyncClient:
        await lifespan.__aenter__()
        wanted = Cloudlet("c1", Flavour.VPLS, "192.0.2.1", State.ACTIVE, digest(CREDENTIAL))
        await inner.state.region.changes.make(lambda intent: intent.with_cloudlet(wanted), "test")
        transport = httpx.ASGITransport(trusted, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://controller")

    async def stop(http: httpx.AsyncClient) -> None:
        await http.aclose()
        await lifespan.__aexit__(None, None, None)
        await loop.shutdown_asyncgens()

    http = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    try:
        yield Client(http, loop)
    finally:
        asyncio.run_coroutine_threadsafe(stop(http), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="module", params=DATABASES)
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A little is already there."""
    with new_database(request, tmp_path_factory.mktemp("openapi")) as url, running(url) as client:
        for path, body in {
            "endpoints": {"name": "c1-lan", "cloudlet": "c1", "prefix": "10.1.0.0/24"},
            "vcps": {"name": "blue"},
            "devices": {"name": "m1", "mac": "02:00:5e:00:00:01"},
            "vms": {
                "name": "web",
                "device": "m1",
                "endpoint": "c1-lan",
                "driver": "d",
                "image": "i",
                "memory": 1 << 29,
            },
        }.items():
            assert client.request("POST", f"/api/v1/{path}", json=body).is_success
        yield client


def described() -> dict[str, Any]:
    """The description without its security: these callers are let through."""
    document = create_app(Settings()).openapi()
    for operations in document["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)
    return document


REFUSED = {"expected-statuses": ["400", "401", "403", "404", "409", "414", "415", "422", "429"]}
CONFIG = SchemathesisConfig.from_dict({"checks": {"negative_data_rejection": REFUSED}})
FOUND = schemathesis.openapi.from_dict(described(), config=CONFIG).get_all_operations()
OPERATIONS: dict[str, Any] = {found.ok().label: found.ok() for found in FOUND if isinstance(found, Ok)}
ENDLESS = ("GET /api/v1/agent/desired", "GET /api/v1/routes/watch")
CASES = [
    (name, mode)
    for name, operation in OPERATIONS.items()
    for mode in GenerationMode
    if name not in ENDLESS and (mode is GenerationMode.POSITIVE or list(operation.iter_parameters()) or operation.body)
]


@pytest.mark.parametrize(("operation", "mode"), CASES)
def test_every_operation_keeps_to_its_description(operation: str, mode: GenerationMode, app: Client) -> None:
    @given(case=OPERATIONS[operation].as_strategy(generation_mode=mode))
    @settings(
        max_examples=20,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    def keeps(case: schemathesis.Case[Any]) -> None:
        # Of an array, a query says the items, the last of which counts, or nothing at all: that may well be right.
        assume(not any(isinstance(value, list) for value in (case.query or {}).values()))
        case.headers["Accept"] = "application/json"
        request = case.as_transport_kwargs(base_url="http://controller")
        request.pop("cookies", None)
        request["content"] = request.pop("data", None)
        case.validate_response(app.request(**request), checks=list(CHECKS))

    keeps()


def test_the_description_is_complete(app: Client) -> None:
    document = app.request("GET", "/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["summary"] and operation["tags"], where
            if path.startswith("/api/"):
                assert operation.get("security") or "enrolments" in path, where
                problems = [s for s, r in operation["responses"].items() if s >= "400"]
                assert {"401", "422"} <= set(problems), where
                for status in problems:
                    assert list(operation["responses"][status]["content"]) == ["application/problem+json"], where
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            name = body.get("$ref", "").rpartition("/")[2]
            if name and "/agent" not in path and "enrolments" not in path:
                assert document["components"]["schemas"][name].get("examples"), f"{where}: {name} has no example"


def test_the_database_is_where_it_was_told(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path}/here.db"):
        assert (tmp_path / "here.db").exists()
