"""Tells the controller how far orders are, and what machines there are."""

import asyncio
import logging
from typing import Protocol

from agents.backoff import Backoff
from agents.controller.client import ControllerAway, ControllerRefused
from agents.moves.execution_context import ExecutionContext
from controller.wire.machines import MachineState
from controller.wire.moves import MoveReport, Progress
from controller.wire.platforms import Platform

log = logging.getLogger(__name__)

TICK = 1.0
"""Seconds between two words on an order, and between two looks at the machines."""

INTERVAL = 30.0
"""Seconds after which machines are reported though nothing has changed."""

_ANSWER = 5.0  # seconds; a word that is not answered by then is said again
_UNUSABLE = (400, 413, 422)


class Away(Protocol):
    """As much of the controller as a reporter needs."""

    async def moves(self, report: MoveReport) -> None:
        """Hands a report over. Raises ControllerAway or ControllerRefused."""


class Reporter:
    """`note` keeps the last word on an order until the next tick; `say` sends one at once, `insist` until it is
    answered. Each report has all machines that there are at that place."""

    def __init__(self, cloudlet: str, controller: Away, place: ExecutionContext) -> None:
        self._cloudlet, self._controller, self._place = cloudlet, controller, place
        self._noted: dict[str, Progress] = {}
        self._sent: list[MachineState] = []
        self._said = ""
        self._ready = asyncio.Event()
        self._platforms: dict[str, Platform] = {}
        self._told: dict[str, Platform] | None = None

    def ready(self) -> None:
        """The machines can be seen: before, a report would say that there are none."""
        self._ready.set()

    def note(self, progress: Progress) -> None:
        """How far an order is: the last one counts."""
        self._noted[progress.move] = progress

    def forget(self, move: str) -> None:
        """What was noted is not so any more."""
        self._noted.pop(move, None)

    async def say(self, progress: Progress, seconds: float = _ANSWER) -> float:
        """Sends it by itself; returns when it was sent (the loop's time), once it was answered. Raises ControllerAway
        or ControllerRefused."""
        await self._ready.wait()
        # A word that a machine waits for, or that its place depends on, does not wait for a driver.
        waits = progress.state == "running" or progress.act == "switchover"
        machines = self._place.seen() if waits else await self._place.machines()
        sent = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(seconds):
                await self._send([progress], machines)
        except TimeoutError as error:
            raise ControllerAway(f"no answer within {seconds:.1f} s") from error
        return sent

    async def insist(self, progress: Progress) -> None:
        """Sends it until it is answered."""
        backoff = Backoff(first=0.2, cap=TICK)
        while True:
            try:
                await self.say(progress)
            except ControllerRefused as refused:
                if refused.status == 409:
                    return
                if refused.status in _UNUSABLE:
                    log.error("the controller does not understand that %s: %s", progress, refused)
                    return
            except ControllerAway as away:
                log.debug("move %s: %s", progress.move, away)
            else:
                return
            await asyncio.sleep(backoff.delay())

    async def run(self) -> None:
        """Works until cancelled."""
        await self._ready.wait()
        looking = asyncio.create_task(self._look())
        try:
            await self._report()
        finally:
            looking.cancel()

    async def _look(self) -> None:
        """What machines find here, beside all else: an image of many gigabytes is read once."""
        while True:
            try:
                self._platforms = await self._place.platforms()
            except Exception:
                log.exception("what machines find here")
            await asyncio.sleep(INTERVAL)

    async def _report(self) -> None:
        loop, due = asyncio.get_running_loop(), 0.0
        while True:
            machines = await self._place.machines()
            noted = [*self._noted.values()][:200]
            if (
                noted
                or self._platforms != (self._told or {})
                or _looks(machines) != _looks(self._sent)
                or (machines and loop.time() >= due)
            ):
                try:
                    await self._send(noted, machines)
                except (ControllerAway, ControllerRefused) as error:
                    log.log(logging.INFO if str(error) != self._said else logging.DEBUG, "moves: %s", error)
                    self._said = str(error)
                else:
                    due = loop.time() + INTERVAL
                    for progress in noted:
                        if self._noted.get(progress.move) is progress:
                            self.forget(progress.move)
            await asyncio.sleep(TICK)

    async def _send(self, progress: list[Progress], machines: list[MachineState]) -> None:
        unlisted, platforms = self._place.unlisted, self._platforms
        report = MoveReport(
            cloudlet=self._cloudlet,
            progress=progress,
            machines=machines,
            unlisted=unlisted,
            platforms=platforms if platforms != self._told else None,
        )
        await self._controller.moves(report)
        self._sent, self._said, self._told = machines, "", platforms
        self._place.known(machines)


def _looks(machines: list[MachineState]) -> list[object]:
    """What is news if it changes; figures of a machine that runs always do."""
    return [(state.name, state.condition, state.serving, state.detail) for state in machines]
