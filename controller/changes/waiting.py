"""Waiting for the effect of a change: receipts of route servers, and agents whose kernels agree."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controller.agents.registry import Agents
from controller.changes.outcomes import AgentOutcome, ChangeResult, Interruption, PolicySteps
from controller.core.intent import Intent
from controller.wire import tracing
from controller.wire.log_fields import note
from controller.wire.rulesets import Receipt


@dataclass(frozen=True)
class Sent:
    """A change on its way: the receipts to come by route server, the cloudlets whose agents have to confirm, those
    `unmanaged` ones that it concerns, the steps that the policy in force added to it, and what it interrupts."""

    generation: int
    receipts: dict[str, asyncio.Future[Receipt | None]]
    cloudlets: tuple[str, ...]
    confirm_by: datetime | None = None
    followed: PolicySteps | None = None
    unmanaged: tuple[str, ...] = ()
    interrupted: tuple[Interruption, ...] = ()


def parted(intent: Intent, who: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return those of the cloudlets that have an agent, and those that have none."""
    there = sorted(name for name in who if name in intent.cloudlets)
    managed = tuple(name for name in there if not intent.cloudlets[name].unmanaged)
    return managed, tuple(name for name in there if intent.cloudlets[name].unmanaged)


class Waiting:
    """Waits for `timeout` seconds after the beginning of a change at most, and no longer once the controller is
    `stopping`. `observe` gets the seconds that the change took; `connected` tells whether a cloudlet's agent is
    connected."""

    def __init__(
        self,
        agents: Agents,
        timeout: float,
        stopping: asyncio.Event,
        connected: Callable[[str], bool],
        observe: Callable[[float], None],
    ) -> None:
        self._agents, self._timeout, self._stopping = agents, timeout, stopping
        self._connected, self._observe = connected, observe

    async def outcome(self, sent: Sent, started: float) -> ChangeResult:
        """Wait for the effect of a change and return it."""
        note(generation=sent.generation)
        connected = [name for name in sent.cloudlets if self._connected(name)]
        receipts, times = await asyncio.gather(
            self.receipts(sent, started), self._confirmations(sent, connected, started)
        )
        finished = time.monotonic()
        agents = [
            AgentOutcome(cloudlet=name, confirmed=True, after_ms=ms(started, times[name]))
            if name in times
            else AgentOutcome(cloudlet=name, confirmed=False)
            for name in sent.cloudlets
        ]
        unreachable = [name for name, receipt in receipts.items() if receipt is None]
        given = [receipt for receipt in receipts.values() if receipt is not None]
        behind = {line.peer for receipt in given for line in receipt.peers if line.written_us is None} - times.keys()
        if sent.receipts or sent.cloudlets:
            self._observe(finished - started)
        return ChangeResult(
            generation=sent.generation,
            in_force=not unreachable and not behind and all(agent.confirmed for agent in agents),
            duration_ms=ms(started, finished),
            route_servers=given,
            unreachable=unreachable,
            agents=agents,
            behind=sorted(behind),
            confirm_by=sent.confirm_by,
            followed=sent.followed,
            unmanaged=list(sent.unmanaged),
            interrupted=list(sent.interrupted),
        )

    async def receipts(self, sent: Sent, started: float) -> dict[str, Receipt | None]:
        """Return the receipts that came in time, and None for each route server that gave none."""
        await self.until(sent.receipts.values(), started)
        return {name: f.result() if f.done() else None for name, f in sent.receipts.items()}

    async def _confirmations(self, sent: Sent, connected: list[str], started: float) -> dict[str, float]:
        tasks = {name: asyncio.ensure_future(self._confirmed(name, sent.generation)) for name in connected}
        try:
            await self.until(tasks.values(), started)
            return {name: task.result() for name, task in tasks.items() if task.done()}
        finally:
            for task in tasks.values():
                task.cancel()

    async def _confirmed(self, cloudlet: str, generation: int) -> float:
        with tracing.span("agent", {"weft.cloudlet": cloudlet, "weft.generation": generation}):
            return await self._agents.confirmed(cloudlet, generation)

    async def until(self, futures: Iterable[asyncio.Future[Any]], started: float) -> None:
        """Wait until all are done, the time is over, or the controller stops."""
        deadline = started + self._timeout
        pending = {future for future in futures if not future.done()}
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            while pending and not stop.done() and (left := deadline - time.monotonic()) > 0:
                done, _ = await asyncio.wait({*pending, stop}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                pending -= done
        finally:
            stop.cancel()


def ms(started: float, at: float) -> float:
    """Return the milliseconds between two times."""
    return round((at - started) * 1000, 3)
