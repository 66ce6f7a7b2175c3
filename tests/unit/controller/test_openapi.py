"""The API against its own description, in this process: every operation succeeds once (walk.py), and random requests
follow with a fixed seed; every other valid one names existing objects."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings, strategies
from schemathesis import GenerationMode, checks
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks as openapi_checks

from controller.api.access import TRUSTED
from controller.core.clock import now
from controller.core.intent import Cloudlet, CloudletState
from controller.core.tokens import digest
from controller.server.app import create_app
from controller.settings import Settings
from controller.trust import ceremony
from controller.wire.flavours import Flavour
from tests.unit.controller import walk
from tests.unit.controller.conftest import DATABASES, new_database

pytestmark = [
    pytest.mark.slow,
    # The controller has a thread of its own, and draws its pauses from `random` while hypothesis makes a request.
    pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning"),
]

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
    """A client that calls the application from outside its event loop, which runs in a thread of its own."""

    def __init__(self, http: httpx.AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
        self._http, self._loop = http, loop

    def request(self, method: str, url: str, **more: Any) -> httpx.Response:
        call = self._http.request(method, url, **more)
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(30)


@contextmanager
def running(url: str, authority: Path | None = None, key: Path | None = None) -> Iterator[Client]:
    """Run a controller without route servers; every request comes from a trusted caller that is also an agent."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    inner = create_app(Settings(database_url=url, agent_timeout=0.05, authority=authority, webhook_key_file=key))
    lifespan = inner.router.lifespan_context(inner)

    async def trusted(scope: Any, receive: Any, send: Any) -> None:
        scope[TRUSTED] = True
        scope["headers"] += [(b"authorization", f"Bearer {CREDENTIAL}".encode())]
        await inner(scope, receive, send)

    async def start() -> httpx.AsyncClient:
        await lifespan.__aenter__()
        wanted = Cloudlet("c1", Flavour.VPLS, "192.0.2.1", CloudletState.ACTIVE, digest(CREDENTIAL))
        await inner.state.region.changes.flow.make(lambda intent: intent.with_cloudlet(wanted), "test")
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


def described() -> dict[str, Any]:
    """Return the description without its security, as these callers are trusted."""
    document = create_app(Settings()).openapi()
    for operations in document["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)
    return document


REFUSED = {"expected-statuses": ["400", "401", "403", "404", "409", "413", "414", "415", "422", "429"]}
CONFIG = SchemathesisConfig.from_dict({"checks": {"negative_data_rejection": REFUSED}})
DESCRIBED = described()
FOUND = list(schemathesis.openapi.from_dict(DESCRIBED, config=CONFIG).get_all_operations())
OPERATIONS: dict[str, Any] = {found.ok().label: found.ok() for found in FOUND if isinstance(found, Ok)}
ENDLESS = {
    "GET /api/v1/agent/desired": "a stream that does not end",
    "GET /api/v1/routes/watch": "a stream that does not end",
}
CANNOT = ENDLESS | {
    "POST /api/v1/cloudlets/{name}/session-keys": "keys are told over TLS alone, which is not served here",
    "POST /api/v1/moves/initiation": "c2's agent, which is not here, has to tell that it can (test_initiations.py)",
    "POST /api/v1/moves/{name}/finish": "an address lingers at c2, whose agent is not here (test_moving.py)",
    "POST /api/v1/routes/release": "nothing is held back from a PE (test_held.py)",
    "POST /api/v1/routes/refresh": "there is no route server (test_peer_sessions.py)",
    "POST /api/v1/routes/reset": "there is no route server (test_peer_sessions.py)",
    "POST /api/v1/route-servers/overtake": "there is no route server that could be ahead",
}
"""Operations that cannot succeed here, with the reason. All others must succeed."""

CASES = [
    (name, mode)
    for name, operation in OPERATIONS.items()
    for mode in GenerationMode
    if name not in ENDLESS and (mode is GenerationMode.POSITIVE or list(operation.iter_parameters()) or operation.body)
]
NAMES = {"cloudlet", "device", "endpoint", "vcp", "vm"}
"""Fields of bodies that name existing objects."""


@dataclass
class Walker:
    """A client for `walk.py` that checks each answer against the description, requires success, and records the
    requests."""

    client: Client
    said: dict[str, tuple[Any, dict[str, Any]]] = field(default_factory=dict)

    def __call__(self, label: str, body: Any = None, **named: Any) -> Any:
        case = self._case(label, body, named)
        answer = ask(self.client, case)
        assert answer.is_success, f"{label} {named} {body}: {answer.status_code} {answer.text}"
        self.said[label] = body, named
        return answer.json() if answer.content and "json" in answer.headers["content-type"] else None

    def _case(self, label: str, body: Any, named: dict[str, Any]) -> "schemathesis.Case[Any]":
        operation = OPERATIONS[label]
        path = {p.name for p in operation.path_parameters}
        more = {} if body is None else {"body": body, "media_type": operation.get_request_payload_content_types()[0]}
        return cast(
            "schemathesis.Case[Any]",
            operation.Case(
                path_parameters={name: value for name, value in named.items() if name in path},
                query={name: value for name, value in named.items() if name not in path},
                **more,
            ),
        )

    def named(self, case: "schemathesis.Case[Any]") -> None:
        """Give a random request the names with which its operation succeeded."""
        body, named = self.said[case.operation.label]
        for name, value in named.items():
            (case.path_parameters if name in case.path_parameters else case.query)[name] = value
        if isinstance(body, dict) and isinstance(case.body, dict):
            case.body = case.body | {name: value for name, value in body.items() if name in NAMES}


def ask(client: Client, case: "schemathesis.Case[Any]") -> httpx.Response:
    """Send a request and check the answer."""
    case.headers["Accept"] = "application/json"
    request = case.as_transport_kwargs(base_url="http://controller")
    request.pop("cookies", None)
    request["content"] = request.pop("data", None)
    answer = client.request(**request)
    case.validate_response(answer, checks=list(CHECKS))
    return answer


@contextmanager
def walking(request: pytest.FixtureRequest, path: Path) -> Iterator[Walker]:
    """Yield a walker on a new database of the kind that the fixture's parameter names."""
    ceremony.init(path / "authority", "test", now())
    (path / "key").write_text("x" * 32)
    (path / "key").chmod(0o600)
    with new_database(request, path) as url, running(url, path / "authority", path / "key") as client:
        yield Walker(client)


@pytest.fixture(params=DATABASES)
def walker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Walker]:
    """A walker on a region with only the cloudlet c1."""
    with walking(request, tmp_path) as walker:
        yield walker


@pytest.fixture(scope="module", params=DATABASES)
def there(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, Walker]]:
    """Two controllers with some objects: the first (True) receives only GET requests, and so keeps its objects to the
    end."""
    folder = tmp_path_factory.mktemp
    with walking(request, folder("asked")) as asked, walking(request, folder("changed")) as changed:
        for walker in (asked, changed):
            for part in (walk.build, walk.tell, walk.use):
                part(walker)
        yield {True: asked, False: changed}


def test_every_operation_can_be_read() -> None:
    paths = DESCRIBED["paths"].items()
    assert {f"{method.upper()} {path}" for path, operations in paths for method in operations} == set(OPERATIONS), [
        found.err() for found in FOUND if not isinstance(found, Ok)
    ]


def test_every_operation_can_succeed(walker: Walker) -> None:
    for part in (walk.build, walk.tell, walk.use, walk.clear):
        part(walker)
    for label in OPERATIONS.keys() - walker.said.keys() - CANNOT.keys():
        walker(label)
    assert walker.said.keys() | CANNOT.keys() == OPERATIONS.keys()
    assert not walker.said.keys() & CANNOT.keys(), "these can"


@pytest.mark.parametrize(("operation", "mode"), CASES)
def test_every_operation_keeps_to_its_description(
    operation: str, mode: GenerationMode, there: dict[bool, Walker]
) -> None:
    asking = operation.startswith("GET")
    walker, succeeded = there[asking], False

    @given(case=OPERATIONS[operation].as_strategy(generation_mode=mode), named=strategies.booleans())
    @settings(
        max_examples=settings().max_examples // 5,  # 20, and 200 with `--hypothesis-profile=search` (tests/nightly)
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    def keeps(case: schemathesis.Case[Any], *, named: bool) -> None:
        nonlocal succeeded
        # A query encodes an array as its items, or as nothing: the server sees the last item, which may well be valid.
        assume(not any(isinstance(value, list) for value in (case.query or {}).values()))
        if named and mode is GenerationMode.POSITIVE and operation in walker.said and case.method != "DELETE":
            walker.named(case)
        succeeded |= ask(walker.client, case).is_success

    keeps()
    if asking and mode is GenerationMode.POSITIVE:
        assert succeeded, "no request has found anything"
    assert not (succeeded and operation in CANNOT), "it can"


def test_the_description_is_complete(there: dict[bool, Walker]) -> None:
    document = there[True].client.request("GET", "/openapi.json").json()
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


def test_a_key_is_offered_where_it_counts() -> None:
    offered = {
        (method, path)
        for path, operations in create_app(Settings()).openapi()["paths"].items()
        for method, operation in operations.items()
        if "Idempotency-Key" in [p["name"] for p in operation.get("parameters", ())]
    }
    assert {("post", "/api/v1/vcps"), ("delete", "/api/v1/vcps/{name}"), ("patch", "/api/v1/vms/{name}")} <= offered
    assert "/api/v1/enrolments" not in {path for _, path in offered} and "get" not in {method for method, _ in offered}
