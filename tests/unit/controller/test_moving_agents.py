"""Moves from end to end: a real controller, and the agents' own part in moves with the simulated driver, over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from agents.controller.client import Controller as Door
from agents.hypervisors.found import GROUP, Drivers
from agents.hypervisors.simulated.machines import Machines
from agents.moves import Moves
from agents.settings import HypervisorSettings
from controller.db import initiators
from controller.wire.desired import Desired
from controller.wire.moves import Orders
from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_mover import settled
from tests.unit.controller.moving_town import OVER
from tests.unit.controller.test_leases import mac

pytestmark = pytest.mark.slow

VM = {"name": "v1", "device": "m1", "endpoint": "c1-lan", "driver": "simulated", "image": "tiny", "memory": 1 << 24}


@dataclass
class Site:
    """A cloudlet's agent, as far as moves need it. `stop` and `start` restart it: the state on the disk stays."""

    name: str
    directory: Path
    url: str
    credential: str
    task: "asyncio.Task[None] | None" = None

    @property
    def state(self) -> Path:
        return self.directory / "hypervisors" / "simulated"

    def start(self) -> None:
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)

    async def _run(self) -> None:
        self.state.mkdir(parents=True, exist_ok=True)
        points = [EntryPoint("simulated", "agents.hypervisors.simulated:driver", GROUP)]
        settings = {"simulated": HypervisorSettings(options={"speed": "100"})}
        async with Door(self.url) as door:
            door.use(self.credential)
            drivers = Drivers(self.name, self.directory / "hypervisors", settings, points)
            moves = Moves(self.name, self.directory / "moves", door, drivers)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(moves.run())
                tasks.create_task(self._follow(door, moves))

    async def _follow(self, door: Door, moves: Moves) -> None:
        async for document in door.desired(None, lambda: None):
            if isinstance(document, Desired):
                moves.know(document)
            elif isinstance(document, Orders):
                moves.intend(document)


@asynccontextmanager
async def town(controller: Controller, path: Path) -> AsyncIterator[dict[str, Site]]:
    sites = {}
    for number, name in enumerate(("c1", "c2"), 1):
        credential = await controller.cloudlet(name, number)
        sites[name] = Site(name, path / name, str(controller.http.base_url), credential)
        sites[name].start()
    await controller.post("/vcps", {"name": "blue"})
    for name in sites:
        await controller.post("/vcps/blue/members", {"endpoint": f"{name}-lan"})
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await controller.post("/vms", VM)
    vm = await controller.get("/vms/v1")
    lease = {"endpoint": "c1-lan", "mac": vm["macs"][0], "client_id": vm["client_id"]}
    headers = {"Authorization": f"Bearer {sites['c1'].credential}"}
    await controller.http.post("/api/v1/agent/leases", json=lease, headers=headers)
    try:
        await controller.post("/vms/v1/start", status=200)
        await settled(lambda: at(controller, "c1-lan"))
        yield sites
    finally:
        for site in sites.values():
            await site.stop()


async def at(controller: Controller, endpoint: str) -> bool:
    vm = await controller.get("/vms/v1")
    return bool(vm["endpoint"] == endpoint and vm["condition"] == "running" and vm["address"])


async def over(controller: Controller, name: str) -> dict[str, Any]:
    """Wait until the move has no step left; return it."""
    async with asyncio.timeout(60):
        while True:
            move: dict[str, Any] = await controller.get(f"/moves/{name}")
            if move["state"] in OVER and move["step"] == "normal":
                return move
            await asyncio.sleep(0.05)


async def restarted(controller: Controller, site: Site, name: str, step: str) -> dict[str, Any]:
    """Restart a site's agent when the move is at that step, or past all; return the move at its end."""
    async with asyncio.timeout(10):
        while (await controller.get(f"/moves/{name}"))["step"] not in (step, "normal"):  # noqa: ASYNC110
            await asyncio.sleep(0.002)
    await site.stop()
    site.start()
    return await over(controller, name)


async def start(controller: Controller, endpoint: str) -> str:
    return str((await controller.post("/moves", {"vm": "v1", "endpoint": endpoint, "linger": 0}))["name"])


async def test_there_and_back(controller: Controller, tmp_path: Path) -> None:
    async with town(controller, tmp_path):
        for endpoint, serving, address in (("c2-lan", "b", "10.2.0.3"), ("c1-lan", "a", "10.1.0.3")):
            move = await over(controller, await start(controller, endpoint))
            assert (move["state"], move["reason"]) == ("done", ""), move
            await settled(partial(at, controller, endpoint))
            vm = await controller.get("/vms/v1")
            assert (vm["serving"], vm["address"]) == (serving, address)


async def initiated(controller: Controller, endpoint: str) -> str:
    body = {"vm": "v1", "endpoint": endpoint, "linger": 0}
    return str((await controller.post("/moves/initiation", body))["name"])


async def told(controller: Controller) -> bool:
    """Return whether both agents have told that they can start VMs anew."""
    async with controller.region.database.read() as session:
        return all([await initiators.of(session, name) == frozenset({"simulated"}) for name in ("c1", "c2")])


async def test_anew_there_and_anew_back(controller: Controller, tmp_path: Path) -> None:
    async with town(controller, tmp_path) as sites:
        await settled(lambda: told(controller))
        boots = set()
        for endpoint, serving, address in (("c2-lan", "b", "10.2.0.3"), ("c1-lan", "a", "10.1.0.3")):
            here, there = (sites[name].state for name in (("c1", "c2") if endpoint == "c2-lan" else ("c2", "c1")))
            move = await over(controller, await initiated(controller, endpoint))
            assert (move["state"], move["reason"]) == ("done", ""), move
            await settled(partial(at, controller, endpoint))
            vm = await controller.get("/vms/v1")
            assert (vm["serving"], vm["address"]) == (serving, address)
            record = Machines(there).read("v1")
            assert record is not None and record.condition == "running" and Machines(here).read("v1") is None
            boots.add(record.boot)
        assert len(boots) == 2, "it was booted anew"


@pytest.mark.parametrize("side", ["c1", "c2"])
@pytest.mark.parametrize("step", ["initiate", "leave", "discard"])
async def test_an_agent_is_restarted_in_an_initiation(
    controller: Controller, tmp_path: Path, step: str, side: str
) -> None:
    async with town(controller, tmp_path) as sites:
        await settled(lambda: told(controller))
        name = await initiated(controller, "c2-lan")
        move = await restarted(controller, sites[side], name, step)
        assert move["state"] == "done", move
        await settled(lambda: at(controller, "c2-lan"))
        assert Machines(sites["c1"].state).read("v1") is None


@pytest.mark.parametrize("side", ["c1", "c2"])
@pytest.mark.parametrize("step", ["prepare", "memory", "switchover", "activate", "join", "discard"])
async def test_an_agent_is_restarted(controller: Controller, tmp_path: Path, step: str, side: str) -> None:
    async with town(controller, tmp_path) as sites:
        name = await start(controller, "c2-lan")
        move = await restarted(controller, sites[side], name, step)
        assert move["state"] == "done", move
        await settled(lambda: at(controller, "c2-lan"))
