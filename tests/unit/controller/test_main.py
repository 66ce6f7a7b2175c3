"""The process: settings, sockets, signals, and being killed."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from lab.patience import eventually
from tests.tiers import smoke_first
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.fake_routeserver import TOKEN, FakeRouteServer, fake_route_server

COMMAND = [sys.executable, "-m", "controller.main"]


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    clean = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    return subprocess.run(
        [*COMMAND, *arguments], env=clean | environment, capture_output=True, text=True, timeout=30, check=False
    )


class Process:
    """A controller in a process of its own, called over its unix socket."""

    def __init__(self, path: Path, **environment: str) -> None:
        self.socket = path / "controller.sock"
        self.environment = os.environ | {
            "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{path}/weft.db",
            "WEFT_LISTEN": "127.0.0.1:0",
            "WEFT_SOCKET": str(self.socket),
            **environment,
        }
        transport = httpx.AsyncHTTPTransport(uds=str(self.socket))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://controller", timeout=10)

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *COMMAND, env=self.environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        assert self.process.stdout is not None
        said: list[str] = []
        async with asyncio.timeout(20):
            while "listening on" not in "".join(said[-1:]):  # what is logged may come before
                said.append((await self.process.stdout.readline()).decode())
                assert said[-1], "".join(said)
        self.line = said[-1]
        async with asyncio.timeout(10):
            while not await self._ready():  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)

    async def _ready(self) -> bool:
        try:
            return (await self.http.get("/readyz")).status_code == 200
        except httpx.HTTPError:
            return False

    async def end(self, number: signal.Signals) -> float:
        """Send a signal; return the seconds until the process has ended."""
        started = time.monotonic()
        self.process.send_signal(number)
        await asyncio.wait_for(self.process.wait(), 10)
        return time.monotonic() - started


@asynccontextmanager
async def process(path: Path, **environment: str) -> AsyncIterator[Process]:
    controller = Process(path, **environment)
    await controller.start()
    try:
        yield controller
    finally:
        if controller.process.returncode is None:
            controller.process.kill()
            await controller.process.wait()
        controller.process._transport.close()  # type: ignore[attr-defined]
        await controller.http.aclose()


def test_help_and_version() -> None:
    helped, version = run("--help"), run("--version")
    assert helped.returncode == version.returncode == 0
    assert "WEFT_ROUTE_SERVERS" in helped.stdout and version.stdout.startswith("weft-controller ")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    smoke_first(
        3,
        [
            ("WEFT_LISTEN", "192.0.2.1:8080", "cannot listen on 192.0.2.1:8080"),
            ("WEFT_DATABASE_URL", "sqlite+aiosqlite:////nonexistent/weft.db", "unable to open database file"),
            ("WEFT_ROUTE_SERVERS", "nonsense", "not valid JSON"),
            ("WEFT_LISTEN", "nowhere", "not HOST:PORT"),
            ("WEFT_LISTEN", "127.0.0.1:99999", "not HOST:PORT"),
            ("WEFT_ROUTE_SERVERS", '[{"name": "rs1"}]', "Field required"),
            ("WEFT_ASN", "0", "greater than or equal to 1"),
            ("WEFT_ADMIN_TOKEN_FILE", "/nonexistent/token", "cannot read /nonexistent/token"),
            ("WEFT_ROUTE_SERVER_TOKEN_FILE", "/nonexistent/token", "cannot read /nonexistent/token"),
            ("WEFT_DATABASE_URL", "nonsense", "Could not parse"),
            ("WEFT_DATABASE_URL", "mysql://weft@localhost/weft", "the database is sqlite:///FILE or postgresql://"),
            ("WEFT_DATABASE_URL", "postgresql://weft@/weft?host=/nonexistent", "No such file or directory"),
            ("WEFT_SOCKET", "/nonexistent/socket", "cannot listen on /nonexistent/socket"),
        ],
    ),
)
def test_bad_settings_are_one_sentence(tmp_path: Path, name: str, value: str, reason: str) -> None:
    usual = {"WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{tmp_path}/weft.db", "WEFT_LISTEN": "127.0.0.1:0"}
    done = run(**(usual | {name: value}))
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"weft-controller: {name}") and reason in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run(WEFT_LISTEN=f"127.0.0.1:{taken.getsockname()[1]}", WEFT_DATABASE_URL="sqlite+aiosqlite://")
    assert done.returncode == 1 and done.stderr.endswith("Address already in use\n"), done.stderr


async def test_a_database_from_a_later_release_is_refused(tmp_path: Path) -> None:
    async with process(tmp_path) as controller:
        await controller.end(signal.SIGTERM)
    import sqlite3

    connection = sqlite3.connect(tmp_path / "weft.db")
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    done = await asyncio.to_thread(
        run, WEFT_DATABASE_URL=f"sqlite+aiosqlite:///{tmp_path}/weft.db", WEFT_LISTEN="127.0.0.1:0"
    )
    assert done.returncode == 1 and "later release" in done.stderr and done.stderr.count("\n") == 1, done.stderr


async def test_sockets_signals_and_streams(tmp_path: Path) -> None:
    async with process(tmp_path) as controller:
        assert stat.S_IMODE(controller.socket.stat().st_mode) == 0o600
        port = int(controller.line.split("127.0.0.1:")[1].split()[0])
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as tcp:
            assert (await tcp.get("/api/v1/cloudlets")).status_code == 403
            assert (await controller.http.get("/api/v1/cloudlets")).status_code == 200
            body = {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"}
            token = (await controller.http.post("/api/v1/cloudlets", json=body)).json()["token"]
            request = {"token": token, "cloudlet": "c1", "agent_version": "1"}
            credential = (await tcp.post("/api/v1/enrolments", json=request)).json()["credential"]
            agent = FakeAgent(tcp, credential)
            following = asyncio.create_task(agent.follow())
            await agent.document(0)
            second = await asyncio.to_thread(run, WEFT_SOCKET=str(controller.socket), WEFT_LISTEN="127.0.0.1:0")
            assert second.returncode == 1 and "another controller serves" in second.stderr
            resident = Path(f"/proc/{controller.process.pid}/status").read_text().split("VmRSS:")[1].split()[0]
            assert int(resident) < 200 * 1024
            assert await controller.end(signal.SIGTERM) < 2
            await asyncio.wait_for(following, 1)
        assert controller.process.returncode == 0 and not controller.socket.exists()


def at(server: FakeRouteServer, generation: int) -> bool:
    return server.rules.generation == generation


def grown(names: set[str], than: int) -> bool:
    return len(names) > than


@pytest.mark.slow
async def test_killed_at_any_moment_it_comes_back_whole(tmp_path: Path, database_url: str) -> None:
    (tmp_path / "token").write_text(TOKEN)
    async with fake_route_server("rs1") as server:
        servers = json.dumps([{"name": "rs1", "address": "192.0.2.200", "control": server.url}])
        environment = {
            "WEFT_ROUTE_SERVERS": servers,
            "WEFT_ROUTE_SERVER_TOKEN_FILE": str(tmp_path / "token"),
            "WEFT_DATABASE_URL": database_url,
        }
        known: set[str] = set()
        for turn in range(4):
            async with process(tmp_path, **environment) as controller:
                page = (await controller.http.get("/api/v1/vcps?limit=1000")).json()
                found = {vcp["name"] for vcp in page["items"]}
                assert known <= found, "what was answered is there"
                generation = (await controller.http.get("/readyz")).json()["generation"]
                await eventually(partial(at, server, generation))
                assert {vcp.name for vcp in server.rules.vcps} == found

                async def found_pools(turn: int, http: httpx.AsyncClient) -> None:
                    for number in range(1000):
                        name = f"p{turn}-{number}"
                        answer = await http.post("/api/v1/vcps", json={"name": name})
                        assert answer.status_code == 201
                        known.add(name)

                before = len(known)
                work = asyncio.create_task(found_pools(turn, controller.http))
                await eventually(partial(grown, known, before))
                await asyncio.sleep(turn * 0.033)
                await controller.end(signal.SIGKILL)
                await asyncio.gather(work, return_exceptions=True)
        assert len(known) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("empty_url", ["postgresql"], indirect=True)
async def test_controllers_that_start_together_on_an_empty_database(tmp_path: Path, empty_url: str) -> None:
    places = [tmp_path / name for name in ("one", "two", "three")]
    for place in places:
        place.mkdir()
    async with AsyncExitStack() as stack:
        starting = (stack.enter_async_context(process(place, WEFT_DATABASE_URL=empty_url)) for place in places)
        controllers = await asyncio.gather(*starting)
        assert (await controllers[0].http.post("/api/v1/vcps", json={"name": "blue"})).status_code == 201
        for controller in controllers:
            assert (await controller.http.get("/api/v1/vcps/blue")).status_code == 200
