"""Simulated cloudlets in a process of their own: each has the agent's real decisions, its real journal on the disk, and
its own connection to a controller. Only DHCP's wire format is left out. The process reads a plan from standard input,
and writes its measurements and the leases of its clients to standard output; both are JSON.
"""

import asyncio
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from agents.controller.client import Controller, ControllerAway, ControllerRefused
from agents.dhcp.lease_source import LeaseRefused, NoAnswer
from agents.leases.lan import LeasedLan
from agents.storage.state import StateError
from controller.wire.desired import Endpoint
from controller.wire.flavours import Flavour
from controller.wire.leases import LeaseGrant, LeaseRequest
from controller.wire.model import Message

TICK = 0.02


def prefix(number: int) -> str:
    """Return the prefix of a cloudlet's LAN: 32,766 pairs."""
    return f"10.{number}.0.0/16"


class Plain:
    """The way of former releases: one request to the controller for each lease."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        answer = await self._controller._post("agent/leases", _Old(**request.model_dump(exclude={"renewing"})))
        return LeaseGrant.model_validate_json(answer.content)


class _Old(Message):
    endpoint: str
    mac: str
    client_id: str | None = None
    hostname: str | None = None
    address: str | None = None


class Agent:
    """One cloudlet's agent and its clients."""

    def __init__(self, number: int, plan: dict[str, Any]) -> None:
        self.number, self.name = number, f"c{number}-lan"
        self.controller = Controller(plan["urls"][number % len(plan["urls"])])
        self.controller.use(plan["credentials"][str(number)])
        endpoint = Endpoint(
            name=self.name, index=1, flavour=Flavour.VPLS, prefix=prefix(number), gateway=f"10.{number}.0.1",
            ports=[], rt="65000:1", rd="65000:1", ve_id=1, vni=None, vtep="192.0.2.1", mtu=1450, lease_seconds=3600,
            remotes=[],
        )  # fmt: skip
        self.lan = LeasedLan(endpoint, Path(plan["directory"]) / f"c{number}", self.controller)
        self.plain = Plain(self.controller)
        self.clients: list[LeaseGrant | None] = []
        self.holders: dict[str, int] = {}
        self.twice: set[str] = set()
        self.took: list[float] = []
        self.failed = 0

    def request(self, client: int, address: str | None = None, *, renewing: bool = False) -> LeaseRequest:
        mac = f"02:{self.number:02x}:00:{client >> 16:02x}:{client >> 8 & 255:02x}:{client & 255:02x}"
        return LeaseRequest(endpoint=self.name, mac=mac, client_id=f"01{mac.replace(':', '')}", address=address,
                            renewing=renewing)  # fmt: skip

    async def serve(self, client: int, way: str) -> None:
        """Get one client's lease: a new client asks twice, a known one asks once."""
        started, held = time.perf_counter(), self.clients[client]
        try:
            if way == "plain":
                for _ in range(1 if held else 2):
                    granted = await self.plain.grant(self.request(client))
            elif held:
                granted = await self.lan.grant(self.request(client, held.address, renewing=True))
            else:
                offered = await self.lan.offer(self.request(client))
                granted = await self.lan.grant(self.request(client, offered.address))
        except (ControllerAway, ControllerRefused, LeaseRefused, NoAnswer, StateError):
            self.failed += 1
            return
        self.took.append(time.perf_counter() - started)
        self.acked(client, granted)

    def acked(self, client: int, granted: LeaseGrant) -> None:
        """Record that the client holds its new address and has released its old one; a lease lasts longer than this
        run."""
        held = self.clients[client]
        if held is not None and self.holders.get(held.address) == client:
            del self.holders[held.address]
        if self.holders.setdefault(granted.address, client) != client:
            self.twice.add(granted.address)
        self.clients[client] = granted

    def promised(self) -> list[tuple[str, str | None]]:
        """Return the addresses that clients believe to hold, each with the client id."""
        return [(g.address, self.request(number).client_id) for number, g in enumerate(self.clients) if g is not None]


async def phase(agents: list[Agent], what: dict[str, Any]) -> dict[str, Any]:
    """Serve a given number of clients a second for a given time, new or known ones, taking the agents in turn."""
    for agent in agents:
        agent.took, agent.failed = [], 0
    started, begun, tasks = time.perf_counter(), 0, set[asyncio.Task[None]]()
    while (passed := time.perf_counter() - started) < what["seconds"]:
        due = int(passed * what["rate"])
        while begun < due and len(tasks) < what["at_once"]:
            agent = agents[begun % len(agents)]
            if what["new"]:
                agent.clients.append(None)
                client = len(agent.clients) - 1
            else:
                client = begun // len(agents) % max(1, len(agent.clients))
            task = asyncio.create_task(agent.serve(client, what["way"]))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            begun += 1
        await asyncio.sleep(TICK)
    await asyncio.gather(*tasks)
    answered = time.perf_counter() - started
    while any(agent.lan._account.due for agent in agents) and what["way"] != "plain":  # noqa: ASYNC110
        await asyncio.sleep(TICK)
    told = time.perf_counter() - started
    took = [seconds for agent in agents for seconds in agent.took]
    return {
        "took": took,
        "failed": sum(agent.failed for agent in agents),
        "answered": answered,
        "told": told,
        "promised": [promise for agent in agents for promise in agent.promised()],
        "twice": [address for agent in agents for address in agent.twice],
    }


async def main() -> None:
    gc.set_threshold(100_000, 50, 1000)  # twenty agents share a process, and its garbage collector
    plan = json.loads(sys.stdin.readline())
    agents = [Agent(number, plan) for number in plan["numbers"]]
    running = [asyncio.create_task(agent.lan.run()) for agent in agents]
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await phase(agents, json.loads(line))), flush=True)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
