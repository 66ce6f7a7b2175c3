"""Two cloudlets of one driver, and one machine between them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from time import monotonic
from typing import Literal, TypeVar

import pytest

from agents.hypervisors.hypervisor import Capabilities, Hypervisor
from controller.wire.machines import Condition
from controller.wire.moves import Figures, Target
from tests.conformance.bench import Bench

T = TypeVar("T")
Step = Literal["start", "prepare", "disk", "memory", "switchover", "activate", "discard"]
STEPS: tuple[Step, ...] = ("start", "prepare", "disk", "memory", "switchover", "activate", "discard")
"""The calls to a driver in a move, in their order."""

ELSEWHERE: tuple[Condition, ...] = ("gone", "stopped")


class Pair:
    """Two cloudlets: the machine moves from `here` to `there`. Each call has a time limit, and no look may find the
    machine running at both."""

    def __init__(self, bench: Bench, directory: Path) -> None:
        self.bench, self.machine, self.name = bench, bench.machine, bench.machine.name
        self._directory, self._first = directory, 1
        self.target: Target | None = None
        self.restart()

    def restart(self) -> None:
        """Make new drivers, as if both agents restarted: only the state on the disk remains."""
        self.here: Hypervisor = self.bench.hypervisor(self._first, self._directory)
        self.there: Hypervisor = self.bench.hypervisor(3 - self._first, self._directory)

    def turn_round(self) -> None:
        """Exchange the two cloudlets: the next move goes back."""
        self._first = 3 - self._first
        self.here, self.there, self.target = self.there, self.here, None

    async def within(self, call: Awaitable[T]) -> T:
        """Return the result of a call; fail if it takes too long."""
        async with asyncio.timeout(self.bench.seconds):
            return await call

    async def can(self) -> Capabilities:
        """Return the driver's capabilities."""
        return await self.within(self.here.capabilities())

    async def condition(self, of: Hypervisor) -> Condition:
        """Return the condition of the machine according to that cloudlet's driver."""
        state = (await self.within(of.machines())).get(self.name)
        return state.condition if state is not None else "gone"

    async def conditions(self) -> tuple[Condition, Condition]:
        """Return the conditions here and there. The destination is asked first: if it runs the machine, the source does
        not run it any more."""
        there = await self.condition(self.there)
        here = await self.condition(self.here)
        assert (here, there) != ("running", "running"), "the machine runs twice"
        return here, there

    async def becomes(self, of: Hypervisor, condition: Condition) -> None:
        """Wait until the machine has that condition, within the bench's time."""
        deadline = monotonic() + self.bench.seconds
        while (found := await self.condition(of)) != condition:
            assert monotonic() < deadline, f"it is {found}, and not {condition}"
            await asyncio.sleep(0.2)

    async def freeze(self, of: Hypervisor, frozen: bool = True) -> None:
        """Freeze or resume the machine. Skips the test if the bench cannot do that."""
        if self.bench.freeze is None:
            pytest.skip("the bench cannot freeze a machine")
        await self.within(self.bench.freeze(of, self.name, frozen))

    async def identity(self, of: Hypervisor) -> str:
        """Return the text that only the same machine returns again."""
        return "" if self.bench.identity is None else await self.within(self.bench.identity(of, self.name))

    async def take(self, step: Step, move: str = "m1") -> Figures:
        """Do one step of a move."""
        match step:
            case "start":
                await self.within(self.here.start(self.machine, self.bench.attachment, "a"))
                await asyncio.sleep(self.bench.settling)
            case "prepare":
                self.target = await self.prepare(move)
            case "disk":
                if self.machine.disk is not None and (await self.can()).disk:
                    return await self.last(self.here.disk(self.name, move, self.where(), self.bench.tuning))
            case "memory":
                return await self.last(self.here.memory(self.name, move, self.where(), self.bench.tuning))
            case "switchover":
                return await self.within(self.here.switchover(self.name, move))
            case "activate":
                return await self.within(self.there.activate(self.name, move))
            case "discard":
                await self.within(self.here.discard(self.name))
        return Figures()

    async def up_to(self, step: Step, move: str = "m1") -> None:
        """Do all steps up to that one, and that one too."""
        for one in STEPS[: STEPS.index(step) + 1]:
            await self.take(one, move)
            await self.conditions()

    async def prepare(self, move: str) -> Target:
        """Prepare the destination and return its target."""
        attachment, tuning = self.bench.attachment, self.bench.tuning
        return await self.within(self.there.prepare(self.machine, attachment, "a", move, tuning))

    async def abort(self, move: str = "m1") -> None:
        """Abort the move on both sides."""
        await self.within(self.there.abort(self.name, move))
        await self.within(self.here.abort(self.name, move))

    async def last(self, transfer: AsyncIterator[Figures]) -> Figures:
        """Return the last figures of a transfer."""
        async with asyncio.timeout(self.bench.seconds):
            words = [Figures(), *[figures async for figures in transfer]]
        return words[-1]

    def where(self) -> Target:
        """Return the target that `prepare` returned."""
        assert self.target is not None
        return self.target

    async def clear(self) -> None:
        """Remove the machine from both cloudlets, whatever its state."""
        for hypervisor in (self.bench.hypervisor(number, self._directory) for number in (1, 2)):
            for move in ("m1", "m2", "m3"):
                await asyncio.wait_for(hypervisor.abort(self.name, move), self.bench.seconds)
            await asyncio.wait_for(hypervisor.stop(self.name), self.bench.seconds)
            await asyncio.wait_for(hypervisor.discard(self.name), self.bench.seconds)
