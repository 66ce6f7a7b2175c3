"""Moves from the REST call to the (simulated) hypervisor: the controller and the executors of its agents."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.controller.client import ControllerAway, ControllerRefused
from controller.wire.moves import MoveReport
from tests.unit.agents.moves.region import Cloudlet, Ear
from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.fake_mover import settled
from tests.unit.controller.test_leases import mac

pytestmark = pytest.mark.slow

VM = {"name": "vm1", "device": "m1", "endpoint": "c1-lan", "driver": "simulated", "image": "tiny", "memory": 1 << 24}


class Line(Ear):
    """The connection from an agent's executor to the real controller."""

    def __init__(self, agent: FakeAgent) -> None:
        super().__init__()
        self._agent = agent

    async def moves(self, report: MoveReport) -> None:
        """Send a report; raise the same errors as agents/controller/client.py."""
        if self.away:
            raise ControllerAway("cut off")
        answer = await self._agent.moves(**report.model_dump())
        if answer.is_client_error:
            raise ControllerRefused(answer.status_code, answer.text)
        assert answer.status_code == 204, answer.text


class Agent:
    """One cloudlet's executor, fed by its stream."""

    def __init__(self, name: str, agent: FakeAgent, directory: Path) -> None:
        self.cloudlet, self.agent = Cloudlet(name, directory / name), agent
        self.cloudlet.ear = Line(agent)
        self._seen = 0

    async def run(self) -> None:
        """Pass on orders until cancelled."""
        while True:
            async with self.agent.came:
                await self.agent.came.wait_for(lambda: len(self.agent.orders) > self._seen)
                self._seen = len(self.agent.orders)
            self.cloudlet.order(*self.agent.orders[-1].orders)

    async def restart(self) -> None:
        """Restart the executor; its stream begins with the current orders."""
        await self.cloudlet.stop()
        self.cloudlet.start()
        self.cloudlet.order(*self.agent.orders[-1].orders)


@asynccontextmanager
async def town(controller: Controller, directory: Path) -> AsyncIterator[dict[str, Agent]]:
    """Cloudlets c1 and c2 in a pool, and a VM that runs at c1."""
    agents = {name: Agent(name, await controller.agent(name, n), directory) for n, name in enumerate(("c1", "c2"), 1)}
    await controller.post("/vcps", {"name": "blue"})
    for name in agents:
        await controller.post("/vcps/blue/members", {"endpoint": f"{name}-lan"})
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await controller.post("/vms", VM)
    vm = await controller.get("/vms/vm1")
    await agents["c1"].agent.lease(endpoint="c1-lan", mac=vm["macs"][0], client_id=vm["client_id"])
    for agent in agents.values():
        agent.cloudlet.start()
    tasks = [asyncio.create_task(agent.run()) for agent in agents.values()]
    try:
        await controller.post("/vms/vm1/start", status=200)
        await settled(lambda: at(controller, "c1-lan"))
        yield agents
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for agent in agents.values():
            await agent.cloudlet.stop()


async def at(controller: Controller, endpoint: str) -> bool:
    vm = await controller.get("/vms/vm1")
    return bool(vm["endpoint"] == endpoint and vm["condition"] == "running")


async def over(controller: Controller, name: str) -> dict[str, Any]:
    """Wait until the move has ended; return it."""
    move: dict[str, Any] = {}

    async def ended() -> bool:
        nonlocal move
        move = await controller.get(f"/moves/{name}")
        return move["state"] in ("done", "undone") and move["step"] == "normal"

    async with asyncio.timeout(40):
        while not await ended():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.05)
    return move


async def start(controller: Controller, endpoint: str) -> str:
    move = await controller.post("/moves", {"vm": "vm1", "endpoint": endpoint, "linger": 0})
    return str(move["name"])


async def test_there_and_back(controller: Controller, tmp_path: Path) -> None:
    async with town(controller, tmp_path) as agents:
        for here, there, serving in (("c1", "c2", "b"), ("c2", "c1", "a")):
            move = await over(controller, await start(controller, f"{there}-lan"))
            assert (move["state"], move["reason"]) == ("done", ""), move
            assert agents[here].cloudlet.condition() == "gone" and agents[there].cloudlet.condition() == "running"
            vm = await controller.get("/vms/vm1")
            assert (vm["endpoint"], vm["serving"]) == (f"{there}-lan", serving)


@pytest.mark.parametrize("point", ["prepare", "memory.half", "switchover.paused", "switchover.handed", "activate"])
async def test_an_agent_that_begins_again_ends_the_move(controller: Controller, tmp_path: Path, point: str) -> None:
    async with town(controller, tmp_path) as agents:
        agent = agents["c2" if point in ("prepare", "activate") else "c1"]
        agent.cloudlet.faults.set(point, "hangs")
        name = await start(controller, "c2-lan")
        await agent.cloudlet.struck()
        await agent.restart()
        move = await over(controller, name)
        assert (move["state"], move["reason"]) == ("done", ""), move
        assert agents["c1"].cloudlet.condition() == "gone" and agents["c2"].cloudlet.condition() == "running"


async def test_a_full_destination_undoes_the_move(controller: Controller, tmp_path: Path) -> None:
    async with town(controller, tmp_path) as agents:
        agents["c2"].cloudlet.faults.set("prepare", "refuses")
        move = await over(controller, await start(controller, "c2-lan"))
        assert move["state"] == "undone" and "simulated refusal at prepare" in move["reason"], move
        assert agents["c1"].cloudlet.condition() == "running" and agents["c2"].cloudlet.condition() == "gone"
