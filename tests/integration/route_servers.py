"""Real route servers and a real controller as plain processes on loopback addresses: no lab, no namespaces, no
agents."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from controller.trust import ceremony
from lab.paths import BIN
from lab.patience import until

TOKEN = "a-token-for-tests"
WEFT = "import sys; from controller.cli.main import main; main()"


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket() as free:
        free.bind((host, 0))
        return int(free.getsockname()[1])


class Daemon:
    """A process that can be killed and started again with the same command."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self._command, self.environment, self._log = command, environment, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, env=self.environment, stdout=log, stderr=log)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(20)
            self._process = None


class RouteServer(Daemon):
    """`weft-routeserver` with a disk of its own."""

    def __init__(self, name: str, address: str, directory: Path, port: int | None = None) -> None:
        self.name, self.address, self.port = name, address, port or free_port(address)
        self.control = f"http://{address}:{free_port(address)}"
        (directory / "token").write_text(TOKEN)
        command = [str(BIN / "weft-routeserver"), "--name", name, "--router-id", address, "--asn", "65000"]
        command += ["--listen", f"{address}:{self.port}", "--control", self.control.removeprefix("http://")]
        command += ["--token-file", str(directory / "token"), "--state", str(directory / name)]
        super().__init__(command, dict(os.environ), directory / f"{name}.log")

    def get(self, path: str, **query: str) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.get(f"{self.control}{path}", params=query, headers=headers, trust_env=False, timeout=10).json()

    def answers(self) -> bool:
        try:
            return bool(self.get("/healthz"))
        except httpx.HTTPError:
            return False

    def pools(self) -> dict[str, list[str]]:
        return {vcp["name"]: vcp["members"] for vcp in self.get("/v1/ruleset").get("vcps", [])}


class World:
    """Two route servers, a controller, and `weft` as a shell calls it. With `signed`, agents use TLS, BGP sessions have
    keys, and the route servers listen at the BGP port, as with `standard`. Their addresses are in `network`."""

    def __init__(
        self,
        directory: Path,
        *,
        authority: bool = False,
        signed: bool = False,
        standard: bool = False,
        network: str = "127.0.78",
    ) -> None:
        self.socket = directory / "c.sock"
        port = 179 if signed or standard else None
        self.servers = [RouteServer(f"rs{n}", f"{network}.{n}", directory, port) for n in (1, 2)]
        described = [{"name": s.name, "address": s.address, "control": s.control} for s in self.servers]
        environment = {
            **os.environ,
            "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{directory}/weft.db",
            "WEFT_LISTEN": f"127.0.0.1:{free_port()}",
            "WEFT_SOCKET": str(self.socket),
            "WEFT_ROUTE_SERVERS": json.dumps(described),
            "WEFT_ROUTE_SERVER_TOKEN_FILE": str(directory / "token"),
            "WEFT_AGENT_TIMEOUT": "2",
        }
        self.agents = f"127.0.0.1:{free_port()}"
        if signed:
            (directory / "secret").write_text("0123456789abcdef" * 4)
            (directory / "secret").chmod(0o600)
            environment |= {"WEFT_AGENT_LISTEN": self.agents, "WEFT_SESSION_SECRET_FILE": str(directory / "secret")}
        if authority or signed:
            ceremony.init(directory / "authority", "test", datetime.now(UTC))
            environment["WEFT_AUTHORITY"] = str(directory / "authority")
        command = [sys.executable, "-m", "controller.main"]
        self.controller = Daemon(command, environment, directory / "controller.log")
        self.environment = {**os.environ, "WEFT_URL": f"unix://{self.socket}"}
        self.environment.pop("PYTHONUNBUFFERED", None)

    def start(self) -> None:
        for server in self.servers:
            server.start()
        for server in self.servers:
            until(server.answers, f"{server.name} answers")
        self.controller.start()
        self.in_step()

    def _http(self) -> httpx.Client:
        return httpx.Client(
            transport=httpx.HTTPTransport(uds=str(self.socket)), base_url="http://controller/api/v1", timeout=20
        )

    def post(self, path: str, body: object = None) -> Any:
        """Make a POST request as `weft` would, but without starting a process."""
        with self._http() as http:
            answer = http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        """Make a GET request as `weft` would, but without starting a process."""
        with self._http() as http:
            return http.get(path).json()

    def route_servers(self) -> list[dict[str, Any]]:
        """Return the route servers as the controller sees them."""
        with self._http() as http:
            return list(http.get("/route-servers").json()["items"])

    def kill(self) -> None:
        """Kill the controller and remove its socket: httpx leaks a connection that it cannot open."""
        self.controller.kill()
        self.socket.unlink()

    def in_step(self) -> None:
        """Wait until the controller answers and both route servers are in step with it."""

        def agree() -> bool:
            if not self.socket.exists():
                return False
            try:
                return all(server["in_step"] for server in self.route_servers())
            except httpx.HTTPError:
                return False

        until(agree, "the controller and the route servers agree", 120)

    def stop(self) -> None:
        for daemon in (self.controller, *self.servers):
            daemon.stop()

    def weft(self, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run one `weft` command; check its exit code unless `code` is None."""
        command = [sys.executable, "-c", WEFT, *arguments]
        ended = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        assert code is None or ended.returncode == code, ended
        assert "Traceback" not in ended.stdout + ended.stderr
        return ended

    def json(self, *arguments: str, code: int | None = 0) -> Any:
        return json.loads(self.weft(*arguments, "-o", "json", code=code).stdout)

    def spawn(self, *arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", WEFT, *arguments]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


@contextmanager
def running(made: World) -> Iterator[World]:
    """Start a world, yield it, and end it."""
    try:
        made.start()
        yield made
    finally:
        made.stop()


@contextmanager
def world(directory: Path, *, authority: bool = False) -> Iterator[World]:
    """Yield a world with three cloudlets without agents on real addresses, each with a LAN; the first is in the pool
    blue."""
    with running(World(directory, authority=authority)) as made:
        for n in (1, 2, 3):
            made.post("/cloudlets", {"name": f"c{n}", "pe": "vpls", "vtep": f"127.0.78.1{n}"})
            made.post(f"/cloudlets/c{n}/approve")
            made.post("/endpoints", {"name": f"c{n}-lan", "cloudlet": f"c{n}", "prefix": f"10.{n}.0.0/24"})
        made.post("/vcps", {"name": "blue"})
        made.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        yield made
