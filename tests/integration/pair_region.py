"""A region on loopback addresses: the real controller, both real route servers, light PEs and fake agents, with links
between controller and route servers that a test can cut."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from lab.paths import BIN, ROOT
from lab.patience import eventually
from tests.integration.light_pe import LightPe
from tests.unit.controller.fake_agent import FakeAgent

HOST = "127.0.84."
TOKEN = "a-token-of-the-pair"
Json = dict[str, Any]


class Link:
    """A TCP proxy from a port of its own to a target. `cut` breaks it until `heal`; `freeze` holds back the data, which
    `heal` delivers, however old it is."""

    def __init__(self, target: int) -> None:
        self._target, self._up = target, True
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def serve(self, stack: AsyncExitStack) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        stack.push_async_callback(self._close, server)

    def cut(self) -> None:
        self._up = False
        for writer in list(self._open):
            writer.transport.abort()

    def freeze(self) -> None:
        self._thawed.clear()

    def heal(self) -> None:
        self._up = True
        self._thawed.set()

    async def _close(self, server: asyncio.Server) -> None:
        server.close()
        self.cut()
        self._thawed.set()
        await asyncio.gather(*self._tasks)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._carry(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await task

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            if self._up:
                onward, back = await self._connect()
                self._open.add(back)
                try:
                    await asyncio.gather(self._copy(reader, back), self._copy(onward, writer))
                finally:
                    self._open.discard(back)
        except OSError:
            pass
        finally:
            self._open.discard(writer)
            await _closed(writer)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._target)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self._thawed.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            await _closed(writer)


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection, and wait until it is: a loop that ends before leaves it to the garbage collector."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


class Daemon:
    """A process that can be killed and started again. Its output goes to a file that is shown when it fails."""

    def __init__(self, argv: list[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self.argv, self._log, self._environment = argv, log, environment or {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.argv, env={**os.environ, **self._environment}, stdout=log, stderr=log, cwd=ROOT
            )

    @property
    def running(self) -> bool:
        return self._process is not None

    def kill(self) -> None:
        """Kill the process with kill -9, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class RouteServer:
    """One of the pair: its daemon, the controller's link to it, and the link to its twin."""

    def __init__(self, name: str, address: str, directory: Path) -> None:
        self.name, self.address = name, address
        self.bgp, self.control = _port(address), _port("127.0.0.1")
        self.state = directory / f"{name}-state"
        self.link, self.to_twin = Link(self.control), Link(0)
        self._directory = directory
        self.daemon = Daemon([], directory / f"{name}.log")

    def prepare(self, *more: str) -> None:
        self.daemon.argv = [
            str(BIN / "weft-routeserver"),
            *("--name", self.name, "--listen", f"{self.address}:{self.bgp}", "--control", f"127.0.0.1:{self.control}"),
            *("--token-file", str(self._directory / "token"), "--state", str(self.state)),
            *("--twin", f"http://127.0.0.1:{self.to_twin.port}", *more),
        ]

    def ask(self, path: str) -> Json:
        """Query the control API directly, without the link that may be cut."""
        url = f"http://127.0.0.1:{self.control}{path}"
        answer = httpx.get(url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=5, trust_env=False)
        return dict(answer.raise_for_status().json())

    def generation(self) -> int:
        try:
            return int(self.ask("/v1/standing")["generation"])
        except httpx.HTTPError:
            return -1


class PairRegion:
    """The whole region. PEs c1 to c4 have one endpoint each; the controller assigns the VE IDs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.one, self.two = (RouteServer(f"rs{i}", f"{HOST}{i}", directory) for i in (1, 2))
        self.one.to_twin, self.two.to_twin = Link(self.two.control), Link(self.one.control)
        self.port = _port("127.0.0.1")
        self.pes: dict[str, LightPe] = {}
        self._apart: set[str] = set()
        self.http = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20,
            trust_env=False,
        )  # fmt: skip
        servers = [
            {"name": s.name, "address": s.address, "control": f"http://127.0.0.1:{{{s.name}}}"} for s in self.servers
        ]
        self._servers = json.dumps(servers)
        self.controller = Daemon([sys.executable, "-m", "controller.main"], directory / "controller.log")

    @property
    def servers(self) -> tuple[RouteServer, RouteServer]:
        return self.one, self.two

    @property
    def database(self) -> Path:
        return self.directory / "weft.db"

    async def start(self, stack: AsyncExitStack) -> None:
        (self.directory / "token").write_text(TOKEN)
        (self.directory / "token").chmod(0o600)
        servers = self._servers
        for server in self.servers:
            await server.link.serve(stack)
            await server.to_twin.serve(stack)
            servers = servers.replace(f"{{{server.name}}}", str(server.link.port))
        for server in self.servers:
            server.prepare()
            server.daemon.start()
            stack.callback(server.daemon.kill)
        self.controller._environment = {
            "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{self.database}",
            "WEFT_LISTEN": f"127.0.0.1:{self.port}",
            "WEFT_ROUTE_SERVERS": servers,
            "WEFT_ROUTE_SERVER_TOKEN_FILE": str(self.directory / "token"),
            "WEFT_ADMIN_TOKEN_FILE": str(self.directory / "token"),
            "WEFT_AGENT_TIMEOUT": "3",
        }
        self.controller.start()
        stack.callback(self.controller.kill)
        stack.push_async_callback(self.http.aclose)
        await self.eventually(self.answers, "the controller")
        for number in range(1, 5):
            await self._cloudlet(stack, number)

    async def answers(self) -> bool:
        try:
            return (await self.http.get("/readyz")).is_success
        except httpx.HTTPError:
            return False

    async def get(self, path: str) -> Json:
        return dict((await self.http.get(f"/api/v1{path}")).raise_for_status().json())

    async def post(self, path: str, body: Json | None = None) -> Json:
        answer = await self.http.post(f"/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return dict(answer.json())

    async def join(self, endpoint: str) -> Json:
        return await self.post("/vcps/blue/members", {"endpoint": endpoint})

    async def leave(self, endpoint: str) -> Json:
        answer = await self.http.delete(f"/api/v1/vcps/blue/members/{endpoint}")
        assert answer.is_success, answer.text
        return dict(answer.json())

    async def in_step(self) -> bool:
        return await self.answers() and all(s["in_step"] for s in (await self.get("/route-servers"))["items"])

    async def error(self, server: RouteServer) -> str:
        return next(str(s["error"]) for s in (await self.get("/route-servers"))["items"] if s["name"] == server.name)

    async def settled(self, *members: str) -> None:
        """Wait until both route servers have one generation, only the members' PEs have each other's routes at both,
        and the doctor finds nothing; then check that nothing went wrong on the way."""

        lacks = ""

        async def whole() -> bool:
            nonlocal lacks
            lacks = await self._lacks(members)
            return not lacks

        await self.eventually(whole, lambda: f"a pair in step with {members}; {lacks}")
        assert self.wrong() == []

    async def _lacks(self, members: Collection[str]) -> str:
        """Return the first thing that a pair in step with these members would have; empty if nothing is missing."""
        if not await self.in_step() or self.one.generation() != self.two.generation():
            return "the generations differ"
        sites = {name: self.pes[name].ve_id for name in members}
        for name, pe in self.pes.items():
            want = set(sites.values()) - {pe.ve_id} if name in members else set()
            for server in self.servers:
                if (has := pe.tables.get(server.name)) != want:
                    return f"{name} has of {server.name} {has}, not {want}"
        return ", ".join(f"{found['where']} differs" for found in await self.differences())

    async def differences(self) -> list[Json]:
        """Return the doctor's findings at the route servers. Kernels do not exist here."""
        found = (await self.get("/doctor"))["differences"]
        return [d for d in found if d["where"].startswith(("route server", "Adj-RIB", "BGP at rs", "quarantine"))]

    def wrong(self) -> list[str]:
        return [text for pe in self.pes.values() for text in pe.wrong]

    def forbid(self, leaver: str, *servers: str) -> None:
        """Forbid, from now on, that anybody is sent the leaver's route, or the leaver anybody's route."""
        self._apart.add(leaver)
        for name, pe in self.pes.items():
            for other, far in self.pes.items():
                if (name == leaver) != (other == leaver):
                    pe.forbid(far.ve_id, *servers)

    def allow(self, joiner: str) -> None:
        """Take back `forbid` for a PE; for other leavers it stays."""
        self._apart.discard(joiner)
        for pe in self.pes.values():
            pe.forbidden.clear()
        for leaver in list(self._apart):
            self.forbid(leaver)

    def meet(self, leaver: str) -> list[str]:
        """Return the PEs that have a PE's route, or whose route it has."""
        own = self.pes[leaver]
        return [pe.name for pe in self.pes.values() if own.ve_id in pe.known or (pe.ve_id in own.known)]

    async def eventually(
        self, check: Callable[[], Awaitable[bool]], what: str | Callable[[], str], seconds: float = 30
    ) -> None:
        def said() -> str:
            return f"{what if isinstance(what, str) else what()}; wrong so far: {self.wrong()}"

        await eventually(check, said, seconds, pause=0.05)

    def restore(self, copy: Path) -> None:
        """Replace the database by a copy. The controller must not run."""
        for beside in self.directory.glob("weft.db*"):
            beside.unlink()
        shutil.copytree(copy, self.directory, dirs_exist_ok=True)

    def backup(self) -> Path:
        """Make a copy of the database. The controller must not run."""
        copy = self.directory / f"copy-{time.monotonic_ns()}"
        copy.mkdir()
        for file in self.directory.glob("weft.db*"):
            shutil.copy(file, copy)
        return copy

    async def _cloudlet(self, stack: AsyncExitStack, number: int) -> None:
        name, address = f"c{number}", f"{HOST}{10 + number}"
        token = (await self.post("/cloudlets", {"name": name, "pe": "vpls", "vtep": address}))["token"]
        enrolled = await self.post("/enrolments", {"token": token, "cloudlet": name, "agent_version": "fake"})
        await self.post("/endpoints", {"name": f"{name}-lan", "cloudlet": name, "prefix": f"10.{number}.0.0/24"})
        lan = await self.get(f"/endpoints/{name}-lan")
        remotes = {server.name: (server.address, server.bgp) for server in self.servers}
        pe = self.pes[name] = LightPe(name, address, lan["rd"], lan["rt"], lan["site"], remotes)
        for work in (pe.run(), _follow(FakeAgent(self.http, enrolled["credential"]))):
            task = asyncio.create_task(work)
            stack.push_async_callback(_end, task)


async def _follow(agent: FakeAgent) -> None:
    """Run a fake agent that reconnects when the controller returns."""
    while True:
        with suppress(httpx.HTTPError):
            await agent.follow()
        await asyncio.sleep(0.1)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _port(host: str) -> int:
    with socket.socket() as free:
        free.bind((host, 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def pair_region(directory: Path) -> AsyncIterator[PairRegion]:
    """Yield a region with c1, c2 and c3 in the pool blue, and c4 in none, which may be sent no route."""
    async with AsyncExitStack() as stack:
        region = PairRegion(directory)
        await region.start(stack)
        await region.post("/vcps", {"name": "blue"})
        region.forbid("c4")
        for name in ("c1", "c2", "c3"):
            await region.join(f"{name}-lan")
        await region.settled("c1", "c2", "c3")
        region.pes["c1"].needed = {region.pes["c2"].ve_id}
        region.pes["c2"].needed = {region.pes["c1"].ve_id}
        yield region
