"""Addresses while the controller is away: real DHCP clients, the agent's DHCP server and journal in a process that can
be killed, and a real controller that can be stopped and started."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.patience import eventually
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.integration.dhcp_clients import Client

pytestmark = pytest.mark.lab

ROOT = Path(__file__).parents[2]
ADMIN, SOCKET = "an-admin-token", "controller.sock"
FIRST, SECOND, THIRD = "02:00:5e:00:00:01", "02:00:5e:00:00:02", "02:00:5e:00:00:03"
AGENT = """
import asyncio, logging, sys
from pathlib import Path
import httpx
from agents.controller import Controller
from agents.dhcp import DhcpServer
from agents.leases import Leases
from controller.wire.desired import Desired

async def main(here):
    logging.basicConfig(level=logging.INFO)
    desired = Desired.model_validate_json((here / "desired.json").read_text())
    transport = httpx.AsyncHTTPTransport(uds=str(here / "controller.sock"))
    async with Controller("http://controller/", transport=transport) as controller:
        controller.use((here / "credential").read_text())
        leases = Leases(controller, here / "state")
        assert not await leases.follow(desired)
        lan = desired.endpoints[0]
        await DhcpServer(lan.name, "lan1", lan.gateway, lan.prefix, lan.mtu, leases).start()
        print("serving", flush=True)
        await asyncio.Event().wait()

asyncio.run(main(Path(sys.argv[1])))
"""
SCRIPT = """#!/bin/sh
echo "$1 $ip" >> {log}
case $1 in
  deconfig) ip addr flush dev $interface ;;
  bound) ip addr add $ip/$mask dev $interface ;;
esac
"""


class Site:
    """A controller over SQLite on a unix socket, which reaches into namespaces, and an agent on a LAN."""

    def __init__(self, here: Path, gate: Namespace, machines: list[Namespace]) -> None:
        self.here, self.gate, self.machines = here, gate, machines
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.clients: list[Client] = []

    def start(self, name: str, *words: str, **environment: str) -> None:
        with (self.here / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                words, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, cwd=self.here
            )

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if name == "controller":
            (self.here / SOCKET).unlink()

    def log(self, name: str) -> str:
        return (self.here / f"{name}.log").read_text()

    async def start_controller(self) -> None:
        environment = {
            "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{self.here}/weft.db",
            "WEFT_SOCKET": str(self.here / SOCKET),
            "WEFT_LISTEN": "127.0.0.1:0",
        }
        self.start("controller", sys.executable, "-m", "controller.main", **environment)
        await self.eventually(lambda: self.get("/leases") is not None, "the controller serves")

    async def start_agent(self) -> None:
        before = (self.here / "agent.log").read_text().count("serving") if (self.here / "agent.log").exists() else 0
        command = ["ip", "netns", "exec", self.gate.name, sys.executable, "-c", AGENT, str(self.here)]
        self.start("agent", *command)
        await self.eventually(lambda: self.log("agent").count("serving") > before, "the agent serves")

    def kill_agent(self) -> None:
        self.kill("agent")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(self.here / SOCKET)), timeout=10) as http:
            answer = http.request(method, f"http://controller/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def get(self, path: str) -> Any:
        if not (self.here / SOCKET).exists():
            return None
        try:
            return self.call("GET", path)
        except (httpx.HTTPError, AssertionError):
            return None

    def table(self) -> dict[str, str]:
        """The controller's leases: address to MAC."""
        found = self.get("/leases")
        return {lease["address"]: lease["mac"] for lease in found["items"]} if found else {}

    async def found(self) -> None:
        await self.start_controller()
        token = self.call("POST", "/cloudlets", {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"})["token"]
        body = {"token": token, "cloudlet": "c1", "agent_version": "1"}
        (self.here / "credential").write_text(self.call("POST", "/enrolments", body)["credential"])
        self.call("POST", "/endpoints", {"name": "c1-lan", "cloudlet": "c1", "prefix": "10.1.0.0/24"})
        lan = {"name": "c1-lan", "index": 1, "flavour": "vpls", "prefix": "10.1.0.0/24", "gateway": "10.1.0.1",
               "ports": [], "rt": "1:1", "rd": "1:1", "ve_id": 1, "vni": None, "vtep": "192.0.2.1", "mtu": 1450,
               "lease_seconds": 3600, "remotes": []}  # fmt: skip
        desired = {"version": 1, "generation": 1, "cloudlet": "c1", "asn": 65000, "router_id": "192.0.2.1",
                   "vtep": "192.0.2.1", "speakers": [], "endpoints": [lan]}  # fmt: skip
        (self.here / "desired.json").write_text(json.dumps(desired))
        await self.start_agent()

    def client(self, number: int, mac: str) -> Client:
        """udhcpc on a machine, which then has this address and nothing else."""
        machine = self.machines[number]
        machine.run("ip addr flush dev eth0")
        machine.run("ip link set eth0 down")
        machine.run(f"ip link set eth0 address {mac} up")
        log = self.here / f"client{len(self.clients)}.log"
        script = self.here / f"{log.stem}.sh"
        script.write_text(SCRIPT.replace("{log}", str(log)))
        script.chmod(0o755)
        argv = ["busybox", "udhcpc", "-f", "-i", "eth0", "-s", str(script), "-T", "1", "-A", "1", "-t", "5"]
        self.clients.append(Client(argv, machine, log))
        return self.clients[-1]

    async def bound(self, number: int, mac: str) -> str:
        """The address that a new client gets."""
        client = self.client(number, mac)
        return (await client.news("bound")).split()[1]

    async def eventually(self, look: Callable[[], bool], what: str) -> None:
        await eventually(look, lambda: f"{what}: {self.log('agent') if 'agent' in self.processes else ''}", pause=0.05)

    async def told(self, *addresses: str) -> None:
        await self.eventually(lambda: set(addresses) <= set(self.table()), f"the controller hears of {addresses}")

    def close(self) -> None:
        for client in self.clients:
            client.close()
        for name in list(self.processes):
            self.kill(name)


@pytest.fixture
def spaces() -> Iterator[tuple[Namespace, list[Namespace]]]:
    with namespaces("rgate", "rone", "rtwo", "rthree") as (gate, *machines):
        gate.run("ip link add lan1 type bridge")
        gate.run("ip addr add 10.1.0.1/24 dev lan1")
        gate.run("ip link set lan1 up")
        for number, machine in enumerate(machines):
            cable(gate, f"md{number}", machine, "eth0")
            gate.run(f"ip link set md{number} master lan1")
        yield gate, machines


@asynccontextmanager
async def running(tmp_path: Path, spaces: tuple[Namespace, list[Namespace]]) -> AsyncIterator[Site]:
    site = Site(tmp_path, *spaces)
    try:
        await site.found()
        yield site
    finally:
        site.close()


async def test_new_clients_get_addresses_with_the_controller_killed_and_the_table_is_right_when_it_is_back(
    tmp_path: Path, spaces: tuple[Namespace, list[Namespace]]
) -> None:
    async with running(tmp_path, spaces) as site:
        site.call("POST", "/devices", {"name": "m1", "mac": FIRST, "vm": {"mac": SECOND}})
        assert await site.bound(0, FIRST) == "10.1.0.2"
        await site.told("10.1.0.2")
        site.kill("controller")
        assert await site.bound(1, SECOND) == "10.1.0.3", "the machine of a device that is known here"
        assert await site.bound(2, THIRD) == "10.1.0.4", "somebody new"
        await site.start_controller()
        await site.told("10.1.0.2", "10.1.0.3", "10.1.0.4")
        assert site.table() == {"10.1.0.2": FIRST, "10.1.0.3": SECOND, "10.1.0.4": THIRD}
        kinds = {lease["address"]: (lease["kind"], lease["device"]) for lease in site.get("/leases")["items"]}
        assert kinds["10.1.0.3"] == ("vm", "m1") and kinds["10.1.0.4"] == ("md", "dev-02005e000003")


async def test_an_agent_killed_between_its_answer_and_its_account_tells_of_it_later(
    tmp_path: Path, spaces: tuple[Namespace, list[Namespace]]
) -> None:
    async with running(tmp_path, spaces) as site:
        assert await site.bound(0, FIRST) == "10.1.0.2"
        await site.told("10.1.0.2")
        site.kill("controller")
        assert await site.bound(1, SECOND) == "10.1.0.4"
        site.kill_agent()
        await site.start_agent()
        assert await site.bound(2, THIRD) == "10.1.0.6", "not the one that nobody has heard of yet"
        site.kill_agent()
        await site.start_controller()
        assert set(site.table()) == {"10.1.0.2"}
        await site.start_agent()
        await site.told("10.1.0.2", "10.1.0.4", "10.1.0.6")


async def test_an_agent_that_lost_its_disk_gives_nobody_an_address_that_is_in_use(
    tmp_path: Path, spaces: tuple[Namespace, list[Namespace]]
) -> None:
    async with running(tmp_path, spaces) as site:
        first = site.client(0, FIRST)
        assert (await first.news("bound")).split()[1] == "10.1.0.2"
        await site.told("10.1.0.2")
        site.kill("controller")
        assert await site.bound(1, SECOND) == "10.1.0.4"
        site.kill_agent()
        for path in (tmp_path / "state").iterdir():
            path.unlink()
        await site.start_controller()
        await site.start_agent()
        third = await site.bound(2, THIRD)
        assert third not in ("10.1.0.2", "10.1.0.4") and int(third.rpartition(".")[2]) > 17, "from another range"
        first.process.send_signal(signal.SIGUSR1)
        assert (await first.news("renew")).split()[1] == "10.1.0.2", "who is known to the controller goes on"
        await site.told("10.1.0.2", third)
