"""A controller in this process, served over loopback TCP, with fake route servers."""

import asyncio
import gc
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from controller.db.engine import Database
from controller.db.schema import upgrade
from controller.region import Region
from controller.server.app import create_app
from controller.server.connections import Connections
from controller.settings import RouteServerSettings, Settings
from lab.patience import eventually as eventually
from tests.postgres import Cluster
from tests.tiers import Tier, leave, tier
from tests.unit.controller.catalogued import catalogued as catalogued
from tests.unit.controller.copies import Copies
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.fake_routeserver import TOKEN, FakeRouteServer, fake_route_server, serving
from tests.unit.controller.listening import ADMIN as ADMIN
from tests.unit.controller.listening import PLAIN as PLAIN
from tests.unit.controller.listening import listen as listen


@dataclass
class Controller:
    """A running controller as its callers see it; `region` is its inner state."""

    http: httpx.AsyncClient
    region: Region
    stack: AsyncExitStack
    app: FastAPI

    async def over_tls(self) -> str:
        """Serve agents over TLS as well, as `WEFT_AGENT_LISTEN` requests; return the URL."""
        assert self.region.identity.listener is not None
        context = self.region.identity.listener.context
        protocol = Connections(1000, 1000, 30.0).protocol(context)
        url = await self.stack.enter_async_context(serving(self.app, lifespan="off", http=protocol))
        return url.replace("http:", "https:")

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.http.get(f"/api/v1{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, status: int = 201, **query: Any) -> Any:
        answer = await self.http.post(f"/api/v1{path}", json=body, params=query)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def delete(self, path: str, status: int = 200) -> Any:
        answer = await self.http.delete(f"/api/v1{path}")
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def refused(self, status: int, path: str, body: Any, field: str | None, reason: str) -> Any:
        """Post an invalid body, and check the problem and that nothing has changed."""
        before = self.region.intent
        answer = await self.http.post(f"/api/v1{path}", json=body)
        problem(answer, status, field, reason)
        assert self.region.intent is before
        return answer

    async def cloudlet(
        self,
        name: str,
        number: int,
        pe: str = "vpls",
        prefix: str | None = None,
        place: dict[str, float] | None = None,
        **more: Any,
    ) -> str:
        """Create an active cloudlet with one endpoint, `{name}-lan`; return the agent's credential."""
        made = await self.post("/cloudlets", {"name": name, "pe": pe, "vtep": f"192.0.2.{number}", **(place or {})})
        credential = await self.enrol(name, made["token"])
        lan = {"name": f"{name}-lan", "cloudlet": name, "prefix": prefix or f"10.{number}.0.0/24", **more}
        await self.post("/endpoints", lan)
        return credential

    async def enrol(self, name: str, token: str) -> str:
        made = await self.post("/enrolments", {"token": token, "cloudlet": name, "agent_version": "1"})
        return str(made["credential"])

    async def agent(self, name: str, number: int, *, answers: bool = True, **more: Any) -> FakeAgent:
        """Create a cloudlet like `cloudlet`, with a fake agent that follows its desired state; return the agent."""
        agent = FakeAgent(self.http, await self.cloudlet(name, number, **more), answers=answers)
        await self.follow(agent)
        await agent.document(0)
        return agent

    async def follow(self, agent: FakeAgent, last_id: int | None = None) -> "asyncio.Task[None]":
        task = asyncio.create_task(agent.follow(last_id))

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self.stack.push_async_callback(end)
        return task


def problem(answer: httpx.Response, status: int, field: str | None = None, reason: str = "") -> None:
    """Check that an answer is a problem (RFC 9457) with that field and reason."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status and body["type"].startswith("/problems/") and body["title"]
    assert body["instance"].startswith("/")
    assert reason in body["detail"], body
    if field is not None:
        assert field in [error["field"] for error in body["errors"]], body


Start = Callable[..., AbstractAsyncContextManager[Controller]]


DATABASES = ("sqlite", "postgresql")

ON_POSTGRESQL = {"consents", "deciding", "evacuations", "hostile", "http", "moving", "moving_agents", "moving_machines"}
ON_POSTGRESQL |= {"moving_restarts", "pair", "permits", "refusals", "reservations", "tenants", "tokens", "trials"}
"""Test files about more than stored data: they run on PostgreSQL, and on SQLite only in the nightly tier or with -k.
All others run on both databases; in the first tier those outside of STORED and SHARED run on SQLite only."""

STORED = {"backup", "events", "libpq", "main", "migrations", "pooler"}
"""Test files about the data in a database and its failures: they run on both databases in each tier."""

SHARED = {"audit", "changes", "leases"}
"""Test files about transactions that meet: in the first tier they run on PostgreSQL only, later on both databases."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if tier(config) is Tier.NIGHTLY or config.option.keyword:
        return
    on_both = {_test(item) for item in items if _database(item) == "postgresql"}
    left = {item for item in items if _database(item) == _other(tier(config), item) and _test(item) in on_both}
    leave(config, items, left)


def _other(of: Tier, item: pytest.Item) -> str | None:
    """Return the database that this test skips in a tier; None if it runs on both."""
    name = item.path.stem.removeprefix("test_")
    if item.path.parent != Path(__file__).parent or name in STORED:
        return None
    if name in ON_POSTGRESQL:
        return "sqlite"
    if of is not Tier.SMOKE:
        return None
    return "sqlite" if name in SHARED else "postgresql"


def _database(item: pytest.Item) -> str | None:
    """Return the database that a parametrized test runs on."""
    given: dict[str, object] = item.callspec.params if hasattr(item, "callspec") else {}
    return next((name for name in DATABASES if name in given.values()), None)


def _test(item: pytest.Item) -> object:
    return item.function if isinstance(item, pytest.Function) else item


def migrate(url: str) -> None:
    """Create the tables."""

    async def make() -> None:
        database = Database(url)
        await upgrade(database)
        await database.close()

    asyncio.run(make())


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with empty tables, made once: copying it is quick."""
    path = tmp_path_factory.mktemp("migrated") / "weft.db"
    migrate(f"sqlite+aiosqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def template(cluster: Cluster) -> str:
    """A PostgreSQL database with empty tables, made once; returns its name."""
    cluster.create("migrated")
    migrate(cluster.url("migrated"))
    return "migrated"


@contextmanager
def new_database(request: pytest.FixtureRequest, path: Path, *, empty: bool = False) -> Iterator[str]:
    """Yield the URL of a database of the kind that the fixture's parameter names (DATABASES): with tables unless
    `empty`."""
    if request.param == "sqlite":
        if not empty:
            shutil.copy(request.getfixturevalue("migrated"), path / "weft.db")
        yield f"sqlite+aiosqlite:///{path}/weft.db"
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    with cluster.database(None if empty else request.getfixturevalue("template")) as url:
        yield url


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database with empty tables: the test runs on SQLite and on PostgreSQL."""
    with new_database(request, tmp_path) as url:
        yield url


@pytest.fixture(params=DATABASES)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables, on SQLite and on PostgreSQL."""
    with new_database(request, tmp_path, empty=True) as url:
        yield url


@pytest.fixture
def copies(request: pytest.FixtureRequest, tmp_path: Path, database_url: str) -> Copies:
    """Copies of the test's database."""
    there = None if database_url.startswith("sqlite") else request.getfixturevalue("cluster")
    return Copies(database_url, tmp_path, there)


@pytest.fixture
def start(tmp_path: Path, database_url: str) -> Start:
    """A function that starts controllers, one after the other, on the same database. With `held` it does not wait until
    the present route servers are in step."""
    (tmp_path / "admin").write_text(ADMIN + "\n")
    (tmp_path / "route-servers").write_text(TOKEN)

    @asynccontextmanager
    async def starting(*servers: FakeRouteServer, held: bool = False, **options: Any) -> AsyncIterator[Controller]:
        chosen: dict[str, Any] = {
            "database_url": database_url,
            "admin_token_file": tmp_path / "admin",
            "route_server_token_file": tmp_path / "route-servers",
            "agent_timeout": 2.0,
            "route_servers": [
                RouteServerSettings(name=s.name, address=f"192.0.2.{200 + i}", control=s.url)
                for i, s in enumerate(servers)
            ],
        }
        app = create_app(Settings(**(chosen | options)))
        headers = {"Authorization": f"Bearer {ADMIN}"}
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(serving(app))
            stack.callback(lambda: app.state.region.stop())
            http = await stack.enter_async_context(
                httpx.AsyncClient(base_url=url, headers=headers, timeout=10, trust_env=False, verify=PLAIN)
            )
            region: Region = app.state.region
            there = [s for s in region.route_servers.syncs if not _down(servers, s.name) and not held]
            await eventually(lambda: all(server.reachable for server in there))
            yield Controller(http, region, stack, app)

    return starting


def _down(servers: tuple[FakeRouteServer, ...], name: str) -> bool:
    return any(server.down for server in servers if server.name == name)


@pytest.fixture
async def route_server() -> AsyncIterator[FakeRouteServer]:
    async with fake_route_server("rs1") as server:
        yield server


@pytest.fixture
async def controller(start: Start, route_server: FakeRouteServer) -> AsyncIterator[Controller]:
    """A controller with one fake route server."""
    async with start(route_server) as running:
        yield running


@pytest.fixture
async def region(controller: Controller) -> AsyncIterator[Controller]:
    """Three active cloudlets."""
    for number in (1, 2, 3):
        await controller.cloudlet(f"c{number}", number)
    yield controller


@pytest.fixture
def without_collector() -> Iterator[None]:
    """No garbage is collected during the test, neither its own nor that of tests before it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
