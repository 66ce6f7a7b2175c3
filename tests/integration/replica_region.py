"""Controllers that serve one region together: real processes on a real PostgreSQL server, with both real route servers.
A test can cut, or freeze, the links between each controller and the database or a route server."""

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from lab.patience import eventually
from tests.integration.pair_region import TOKEN, Daemon, Json, Link, RouteServer
from tests.postgres import OWNER, Cluster
from tests.unit.controller.fake_agent import FakeAgent

HOST = "127.0.86."
DATABASE = "region"


class DatabaseLink(Link):
    """A link to the server's unix socket."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(0)
        self._cluster = cluster

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(self._cluster.path / ".s.PGSQL.5432")


class Replica:
    """One controller, its link to the database and its links to the route servers."""

    def __init__(self, name: str, region: "ReplicaRegion") -> None:
        self.name, self._region = name, region
        self.port = _port("127.0.0.1")
        self.database = DatabaseLink(region.cluster)
        self.ways = {server.name: Link(server.control) for server in region.servers}
        self.daemon = Daemon([sys.executable, "-m", "controller.main"], region.directory / f"{name}.log")
        self.http = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20,
            trust_env=False,
        )  # fmt: skip

    async def prepare(self, stack: AsyncExitStack) -> None:
        for link in (self.database, *self.ways.values()):
            await link.serve(stack)
        stack.push_async_callback(self.http.aclose)
        stack.callback(self.daemon.kill)
        token = str(self._region.directory / "token")
        servers = [
            {"name": s.name, "address": s.address, "control": f"http://127.0.0.1:{self.ways[s.name].port}"}
            for s in self._region.servers
        ]
        self.daemon._environment = {
            "WEFT_DATABASE_URL": f"postgresql+asyncpg://{OWNER}@127.0.0.1:{self.database.port}/{DATABASE}",
            "WEFT_LISTEN": f"127.0.0.1:{self.port}",
            "WEFT_REPLICA": self.name,
            "WEFT_ROUTE_SERVERS": json.dumps(servers),
            "WEFT_ROUTE_SERVER_TOKEN_FILE": token,
            "WEFT_ADMIN_TOKEN_FILE": token,
            "WEFT_AGENT_TIMEOUT": "8",
        }

    async def ready(self) -> Json:
        """Return the answer of /readyz; empty if there is none."""
        try:
            return dict((await self.http.get("/readyz", timeout=5)).json())
        except (httpx.HTTPError, ValueError):
            return {}

    async def is_ready(self) -> bool:
        """Return whether the controller serves, with or without route servers."""
        return bool((await self.ready()).get("ready"))

    async def leads(self) -> bool:
        """Return whether the controller leads, by its metrics, which need no database."""
        try:
            return "\nweft_leading 1.0\n" in (await self.http.get("/metrics", timeout=5)).text
        except httpx.HTTPError:
            return False

    async def in_step(self) -> bool:
        there = await self.ready()
        return bool(there.get("ready")) and all(there["route_servers"].values())

    async def get(self, path: str, **query: Any) -> Json:
        return dict((await self.http.get(f"/api/v1{path}", params=query)).raise_for_status().json())

    async def post(self, path: str, body: Json | None = None, **more: Any) -> Json:
        answer = await self.http.post(f"/api/v1{path}", json=body, **more)
        assert answer.is_success, f"{self.name}: {answer.text}"
        return dict(answer.json())

    async def agent(self, name: str, number: int) -> FakeAgent:
        """Create a cloudlet with one LAN, whose agent connects to this controller; return the agent."""
        token = (await self.post("/cloudlets", {"name": name, "pe": "vpls", "vtep": f"192.0.2.{number}"}))["token"]
        enrolled = await self.post("/enrolments", {"token": token, "cloudlet": name, "agent_version": "fake"})
        await self.post("/endpoints", {"name": f"{name}-lan", "cloudlet": name, "prefix": f"10.{number}.0.0/24"})
        agent = FakeAgent(self.http, enrolled["credential"])
        await self._region.follow(agent)
        await agent.document(0)
        return agent

    async def members(self, pool: str) -> list[str]:
        return sorted((await self.get(f"/vcps/{pool}"))["members"])


class ReplicaRegion:
    """The whole region: the controllers `a` and `b` serve it."""

    def __init__(self, directory: Path, cluster: Cluster) -> None:
        self.directory, self.cluster = directory, cluster
        self.servers = [RouteServer(f"rs{i}", f"{HOST}{i}", directory) for i in (1, 2)]
        self.a, self.b = Replica("a", self), Replica("b", self)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def replicas(self) -> tuple[Replica, Replica]:
        return self.a, self.b

    async def start(self, stack: AsyncExitStack) -> None:
        (self.directory / "token").write_text(TOKEN)
        (self.directory / "token").chmod(0o600)
        one, two = self.servers
        one.to_twin, two.to_twin = Link(two.control), Link(one.control)
        for server in self.servers:
            await server.to_twin.serve(stack)
            server.prepare()
            server.daemon.start()
            stack.callback(server.daemon.kill)
        stack.push_async_callback(self._end)
        for replica in self.replicas:
            await replica.prepare(stack)
            replica.daemon.start()
        await self.eventually(self.whole, "two replicas in step")

    async def whole(self) -> bool:
        """Return whether both controllers are in step with both route servers, and exactly one of them leads."""
        return all([await r.in_step() for r in self.replicas]) and await self.leaders() == 1

    async def leaders(self) -> int:
        return sum([await r.leads() for r in self.replicas])

    async def leader(self) -> tuple[Replica, Replica]:
        """Return the leader and the other controller."""
        await self.eventually(self._one_leads, "a leader")
        return (self.a, self.b) if await self.a.leads() else (self.b, self.a)

    async def _one_leads(self) -> bool:
        return await self.leaders() == 1

    def rules(self) -> list[Json]:
        """Return the rule sets of the route servers."""
        return [server.ask("/v1/ruleset") for server in self.servers]

    async def agree(self, replica: Replica) -> Json:
        """Wait until both route servers have the replica's generation; return their rule set."""

        async def same() -> bool:
            number = (await replica.ready()).get("generation")
            return all(server.generation() == number for server in self.servers)

        await self.eventually(same, "route servers at the current generation")
        one, two = self.rules()
        assert one == two
        return one

    async def follow(self, agent: FakeAgent) -> None:
        self._tasks.append(asyncio.create_task(_follow(agent)))

    async def eventually(self, check: Callable[[], Awaitable[bool]], what: str, seconds: float = 30) -> float:
        """Wait until `check` is true; return the seconds that it took."""
        return await eventually(check, what, seconds)

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _follow(agent: FakeAgent) -> None:
    while True:
        with contextlib.suppress(httpx.HTTPError):
            await agent.follow()
        await asyncio.sleep(0.1)


def _port(host: str) -> int:
    with socket.socket() as found:
        found.bind((host, 0))
        return int(found.getsockname()[1])


@asynccontextmanager
async def replica_region(directory: Path, cluster: Cluster) -> AsyncIterator[ReplicaRegion]:
    """Yield a running region. The cluster gets an empty database for it."""
    region = ReplicaRegion(directory, cluster)
    async with AsyncExitStack() as stack:
        await region.start(stack)
        try:
            yield region
        except BaseException:
            for log in sorted(directory.glob("*.log")):
                text = log.read_text(errors="replace")[-6000:]
                print(f"--- {log.name}\n{text}", file=sys.stderr)
            raise
