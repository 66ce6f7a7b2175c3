"""Fake agents that carry out the orders of moves, on one fake hypervisor for two cloudlets: a dictionary of machines.
All acts are immediate."""

import asyncio
from collections.abc import Callable
from typing import Any

from controller.wire.moves import Order
from tests.unit.controller.fake_agent import FakeAgent

Condition = dict[tuple[str, str], str]
"""The condition of each machine at each cloudlet, by (cloudlet, machine)."""

FIGURES: dict[str, dict[str, Any]] = {
    "initiate": {"seconds": 12.0},
    "memory": {"seconds": 2.0, "done": 1000, "total": 1000, "wire": 500_000, "dirty_rate": 10.0, "memory_used": 900},
    "switchover": {"seconds": 0.5, "wire": 125_000, "paused_ms": 40.0},
}


class Mover:
    """One cloudlet's agent. `broken` returns the report for an order that fails, or None if the order succeeds; acts in
    `deaf` are not carried out."""

    def __init__(self, cloudlet: str, agent: FakeAgent, there: Condition) -> None:
        self.cloudlet, self.agent, self.there = cloudlet, agent, there
        self.broken: Callable[[Order], dict[str, Any] | None] = lambda order: None
        self.deaf: set[str] = set()
        self.done: list[tuple[str, int]] = []
        self._seen = 0
        self._reported: dict[tuple[str, int], dict[str, Any]] = {}

    async def run(self) -> None:
        """Carry out orders until cancelled."""
        while True:
            async with self.agent.came:
                await self.agent.came.wait_for(lambda: len(self.agent.orders) > self._seen)
                self._seen = len(self.agent.orders)
                orders = self.agent.orders[-1].orders
            for order in orders:
                if order.act not in self.deaf:
                    await self._carry_out(order)

    async def _carry_out(self, order: Order) -> None:
        key = (order.move, order.number)
        if key not in self._reported:
            if order.act in ("switchover", "activate"):
                answer = await self.say(
                    {"move": order.move, "number": order.number, "act": order.act, "state": "running"}
                )
                if answer == 409:
                    return
            self._reported[key] = self._result(order)
            self.done.append((order.act, order.number))
        await self.say(self._reported[key])

    async def say(self, *progress: dict[str, Any]) -> int:
        mine = {name: condition for (at, name), condition in self.there.items() if at == self.cloudlet}
        machines = [{"name": n, "condition": "waiting" if c == "arrived" else c} for n, c in mine.items()]
        answer = await self.agent.moves(cloudlet=self.cloudlet, progress=list(progress), machines=machines)
        assert answer.status_code in (204, 409), answer.text
        return int(answer.status_code)

    def _result(self, order: Order) -> dict[str, Any]:
        result: dict[str, Any] = {"move": order.move, "number": order.number, "act": order.act, "state": "done"}
        if (instead := self.broken(order)) is not None:
            return result | instead
        here, peer = (self.cloudlet, order.machine.name), (order.peer or "", order.machine.name)
        match order.act:
            case "start":
                self.there[here] = "running"
            case "stop":
                self.there[here] = "stopped"
            case "initiate":
                self.there[here] = "running"
            case "discard" | "abort" if order.initiation is not None:
                self.there.pop(here, None)
            case "prepare":
                self.there[here] = "waiting"
                result["target"] = {"memory": ["tcp:192.0.2.2:4444"]}
            case "memory" | "disk":
                if self.there.get(peer) != "waiting":
                    return result | {"state": "failed", "detail": "nobody waits there"}
            case "switchover":
                self.there[here], self.there[peer] = "moved", "arrived"
            case "activate":
                if self.there.get(here) not in ("arrived", "running"):
                    return result | {"state": "refused", "detail": "its state is not all here"}
                self.there[here] = "running"
            case "abort":
                source = self.there.get(here) in ("running", "moved", "paused")
                if source:
                    self.there[here] = "running"
                else:
                    self.there.pop(here, None)
            case "discard":
                assert self.there.pop(here, None) != "running"
        return result | {"figures": FIGURES.get(order.act, {})}


def breaking(act: str, detail: str) -> Callable[[Order], dict[str, Any] | None]:
    """Return a function for `broken` that refuses one act."""
    return lambda order: {"state": "refused", "detail": detail} if order.act == act else None


def running(there: Condition, name: str) -> list[str]:
    """Return the cloudlets at which a machine runs."""
    return [cloudlet for (cloudlet, machine), condition in there.items() if machine == name and condition == "running"]


async def settled(check: Callable[[], Any]) -> None:
    """Wait until the coroutine function `check` returns true, for at most ten seconds."""
    async with asyncio.timeout(10):
        while not await check():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.02)
