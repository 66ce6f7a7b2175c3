"""Addresses while the controller is away: real DHCP clients of both families, the agent's servers of a LAN and its
journal in a process that can be killed, and a real controller that can be stopped and started."""

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

from agents.kernel import lan as lans
from lab.patience import eventually
from tests.integration.agent_namespaces import Namespace, cable, namespaces, wait_for
from tests.integration.dhcp_clients import Client
from tests.unit.agents.desires import dual, endpoint

pytestmark = pytest.mark.lab

ROOT = Path(__file__).parents[2]
ADMIN, SOCKET = "an-admin-token", "controller.sock"
FIRST, SECOND, THIRD = "02:00:5e:00:00:01", "02:00:5e:00:00:02", "02:00:5e:00:00:03"
AGENT = """
import asyncio, logging, socket, sys
from pathlib import Path
import httpx
from agents.controller.client import Controller
from agents.leases import Leases
from agents.services import LanServers
from controller.wire.desired import Desired

async def main(here):
    logging.basicConfig(level=logging.INFO)
    desired = Desired.model_validate_json((here / "desired.json").read_text())
    transport = httpx.AsyncHTTPTransport(uds=str(here / "controller.sock"))
    async with Controller("http://controller/", transport=transport) as controller:
        controller.use((here / "credential").read_text())
        leases = Leases(controller, here / "state")
        assert not await leases.follow(desired)
        assert not await LanServers(leases).serve(desired, {"lan1": socket.if_nametoindex("lan1")}, leases.hosts)
        print("serving", flush=True)
        await asyncio.Event().wait()

asyncio.run(main(Path(sys.argv[1])))
"""
LAN = endpoint(1, name="c1-lan", prefix="10.1.0.0/24", gateway="10.1.0.1", **dual(1))
MAC = lans.mac("c1", LAN.index)
SCRIPT = """#!/bin/sh
case $1 in
  deconfig) ip addr flush dev $interface ;;
  bound) ip addr add $ip/$mask dev $interface ;;
esac
echo "$1 $ip" >> {log}
"""
SCRIPT6 = """#!/bin/sh
[ "$reason" = BOUND6 ] && ip -6 addr replace $new_ip6_address/128 dev $interface nodad
echo "$reason $new_ip6_address" >> {log}
exit 0
"""


def written(script: Path, text: str) -> Path:
    """Write an executable script; return its path."""
    script.write_text(text)
    script.chmod(0o755)
    return script


class Site:
    """A controller over SQLite on a unix socket, which works across namespaces, and an agent on a LAN."""

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
        """Return the controller's leases: address to MAC."""
        found = self.get("/leases")
        return {lease["address"]: lease["mac"] for lease in found["items"]} if found else {}

    async def found(self) -> None:
        await self.start_controller()
        token = self.call("POST", "/cloudlets", {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"})["token"]
        body = {"token": token, "cloudlet": "c1", "agent_version": "1"}
        (self.here / "credential").write_text(self.call("POST", "/enrolments", body)["credential"])
        self.call(
            "POST", "/endpoints", {"name": LAN.name, "cloudlet": "c1", "prefix": LAN.prefix, "prefix6": LAN.prefix6}
        )
        desired = {"version": 1, "generation": 1, "cloudlet": "c1", "asn": 65000, "router_id": "192.0.2.1",
                   "vtep": "192.0.2.1", "speakers": [], "endpoints": [LAN.model_dump(mode="json")]}  # fmt: skip
        (self.here / "desired.json").write_text(json.dumps(desired))
        await self.start_agent()

    def client(self, number: int, mac: str) -> Client:
        """Start udhcpc on a machine with this MAC and no addresses."""
        machine = self.machines[number]
        machine.run("ip addr flush dev eth0")
        machine.run("ip link set eth0 down")
        machine.run(f"ip link set eth0 address {mac} up")
        log = self.here / f"client{len(self.clients)}.log"
        script = written(self.here / f"{log.stem}.sh", SCRIPT.replace("{log}", str(log)))
        argv = ["busybox", "udhcpc", "-f", "-i", "eth0", "-s", str(script), "-T", "1", "-A", "1", "-t", "5"]
        self.clients.append(Client(argv, machine, log))
        return self.clients[-1]

    def client6(self, number: int, mac: str) -> Client:
        """Start dhclient -6 on a machine with only its link-local address."""
        machine = self.machines[number]
        machine.run("ip link set eth0 down")
        machine.run("sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0 net.ipv6.conf.eth0.accept_dad=0")
        machine.run("sysctl -qw net.ipv6.conf.eth0.router_solicitation_delay=0")
        machine.run(f"ip link set eth0 address {mac} up")
        wait_for("a link-local address", lambda: "fe80::" in machine.run("ip -6 addr show dev eth0"))
        log = self.here / f"client{len(self.clients)}.log"
        script = written(self.here / f"{log.stem}.sh", SCRIPT6.replace("{log}", str(log)))
        paths = ["-lf", str(log.with_suffix(".leases")), "-pf", str(log.with_suffix(".pid")), "-cf", "/dev/null"]
        self.clients.append(Client(["dhclient", "-6", "-d", "-1", *paths, "-sf", str(script), "eth0"], machine, log))
        return self.clients[-1]

    async def bound6(self, number: int, mac: str) -> str:
        """Return the address that a new client gets over DHCPv6."""
        client = self.client6(number, mac)
        return (await client.news("BOUND6")).split()[1]

    async def bound(self, number: int, mac: str) -> str:
        """Return the address that a new client gets."""
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
        gate.run(f"ip link add lan1 address {MAC} type bridge mcast_snooping 0")
        for name, value in {**lans.sysctls(LAN), "net/ipv6/conf/all/forwarding": "1"}.items():
            gate.run(f"sysctl -qw {name.replace('/', '.')}={value}")
        for address in lans.gateways(LAN).values():
            gate.run(f"ip addr add {address} dev lan1")
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


async def test_ipv6_goes_on_with_the_controller_killed(
    tmp_path: Path, spaces: tuple[Namespace, list[Namespace]]
) -> None:
    async with running(tmp_path, spaces) as site:
        site.call("POST", "/devices", {"name": "m1", "mac": FIRST, "vm": {"mac": SECOND}})
        assert await site.bound6(0, FIRST) == "2001:db8:1::2"
        await site.told("10.1.0.2")
        site.kill("controller")
        assert await site.bound6(1, SECOND) == "2001:db8:1::3", "the machine of a device that is known here"
        assert await site.bound6(2, THIRD) == "2001:db8:1::4", "somebody new"
        route = f"default via {lans.link_local(MAC)} proto ra"
        await site.eventually(lambda: route in site.machines[2].run("ip -6 route show dev eth0"), "a router")
        assert " 1 received" in site.machines[2].run("ping -c 1 -W 2 -I 2001:db8:1::4 2001:db8:1::1")
        site.kill_agent()
        await site.start_agent()
        assert await site.bound(2, THIRD) == "10.1.0.4", "its pair, also over IPv4"
        await site.start_controller()
        await site.told("10.1.0.2", "10.1.0.3", "10.1.0.4")
        assert site.table() == {"10.1.0.2": FIRST, "10.1.0.3": SECOND, "10.1.0.4": THIRD}


@pytest.mark.smoke
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
