"""A town of three cloudlets with a VM that moves, carried out by fake agents."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_mover import Condition, Mover, settled
from tests.unit.controller.test_leases import mac

VM = {"name": "v1", "device": "m1", "endpoint": "c1-lan", "driver": "simulated", "image": "debian", "memory": 1 << 28}
OVER = ("done", "undone")


@dataclass
class Town:
    """Cloudlets c1, c2 and c3, the first two in a pool, and a VM that runs at c1."""

    controller: Controller
    movers: dict[str, Mover]
    there: Condition = field(default_factory=dict)

    async def start(self, endpoint: str = "c2-lan", **more: Any) -> str:
        move = await self.controller.post("/moves", {"vm": "v1", "endpoint": endpoint, "linger": 0, **more})
        return str(move["name"])

    async def over(self, name: str) -> dict[str, Any]:
        """Wait until the move has ended, and return it."""
        move: dict[str, Any] = {}

        async def ended() -> bool:
            nonlocal move
            move = await self.controller.get(f"/moves/{name}")
            return bool(move["state"] in OVER)

        try:
            await settled(ended)
        except TimeoutError:
            raise AssertionError(f"{name} does not end: {move}") from None
        return move


@asynccontextmanager
async def town(
    controller: Controller, *, pool: tuple[str, ...] = ("c1-lan", "c2-lan"), pe: str = "vpls", ipv6: bool = False
) -> AsyncIterator[Town]:
    there: Condition = {}
    movers = {}
    for number, name in enumerate(("c1", "c2", "c3"), 1):
        lan: dict[str, Any] = {"prefix6": f"2001:db8:{number}::/64"} if ipv6 else {}
        movers[name] = Mover(name, await controller.agent(name, number, pe=pe, **lan), there)
    await controller.post("/vcps", {"name": "blue", "flavour": pe})
    for endpoint in pool:
        await controller.post("/vcps/blue/members", {"endpoint": endpoint})
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await controller.post("/vms", VM)
    vm = await controller.get("/vms/v1")
    lease = await movers["c1"].agent.lease(endpoint="c1-lan", mac=vm["macs"][0], client_id=vm["client_id"])
    assert lease.json()["address"] == "10.1.0.3"
    tasks = [asyncio.create_task(mover.run()) for mover in movers.values()]
    try:
        await controller.post("/vms/v1/start", status=200)
        await settled(lambda: runs(controller))
        yield Town(controller, movers, there)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def runs(controller: Controller) -> bool:
    vm = await controller.get("/vms/v1")
    return bool(vm["condition"] == "running" and vm["address"] == "10.1.0.3")


async def is_at(controller: Controller, endpoint: str) -> bool:
    vm = await controller.get("/vms/v1")
    return bool(vm["endpoint"] == endpoint and vm["condition"] == "running")


async def is_at_step(controller: Controller, name: str, step: str) -> bool:
    return bool((await controller.get(f"/moves/{name}"))["step"] == step)


TASKS: list["asyncio.Task[None]"] = []


async def again(controller: Controller, credentials: dict[str, Any], there: Condition) -> dict[str, Mover]:
    from tests.unit.controller.fake_agent import FakeAgent

    movers = {}
    for name, headers in credentials.items():
        agent = FakeAgent(controller.http, headers["Authorization"].removeprefix("Bearer "))
        await controller.follow(agent)
        movers[name] = Mover(name, agent, there)
        TASKS.append(asyncio.create_task(movers[name].run()))
    return movers


async def end(movers: dict[str, Mover]) -> None:
    tasks, TASKS[:] = list(TASKS), []
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
