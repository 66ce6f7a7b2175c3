"""The reports to the controller: the progress of orders, and the machines here."""

import asyncio
import logging
from typing import Protocol

from agents.backoff import Backoff
from agents.controller.client import ControllerAway, ControllerRefused
from agents.hypervisors import host_load
from agents.moves.execution_context import ExecutionContext
from controller.wire.machines import MachineState
from controller.wire.moves import MoveReport, Progress
from controller.wire.platforms import Platform

log = logging.getLogger(__name__)

TICK = 1.0
"""Seconds between two reports of an order, and between two looks at the machines."""

INTERVAL = 30.0
"""Seconds after which machines, and the host's load, are reported although nothing else has changed."""

_ANSWER = 5.0  # seconds; a report without an answer is sent again after that
_UNUSABLE = (400, 413, 422)


class Away(Protocol):
    """The part of the controller's API that a reporter needs."""

    async def moves(self, report: MoveReport) -> None:
        """Send a report. Raises ControllerAway or ControllerRefused."""


class Reporter:
    """Sends progress to the controller. `note` keeps the last progress of an order until the next tick; `say` sends it
    at once, `insist` until it is answered. Each report has all machines that are here at that time."""

    def __init__(self, cloudlet: str, controller: Away, place: ExecutionContext) -> None:
        self._cloudlet, self._controller, self._place = cloudlet, controller, place
        self._noted: dict[str, Progress] = {}
        self._sent: list[MachineState] = []
        self._said = ""
        self._ready = asyncio.Event()
        self._platforms: dict[str, Platform] = {}
        self._told: dict[str, Platform] | None = None
        self._initiates: list[str] | None = None

    def ready(self) -> None:
        """Note that the machines can be seen: an earlier report would say that there are none."""
        self._ready.set()

    def note(self, progress: Progress) -> None:
        """Note the progress of an order. The last one counts."""
        self._noted[progress.move] = progress

    def forget(self, move: str) -> None:
        """Drop the noted progress, as it is out of date."""
        self._noted.pop(move, None)

    async def say(self, progress: Progress, seconds: float = _ANSWER) -> float:
        """Send this progress by itself and wait for the answer; return when it was sent (the loop's time). Raises
        ControllerAway or ControllerRefused."""
        await self._ready.wait()
        # A report for which a machine waits, or on which its place depends, does not wait for a driver.
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
        """Send this progress until it is answered."""
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
        """Work until cancelled."""
        await self._ready.wait()
        looking = asyncio.create_task(self._look())
        try:
            await self._report()
        finally:
            looking.cancel()

    async def _look(self) -> None:
        """Look at the platforms at intervals, apart from all other work, as an image of many gigabytes is read once."""
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
                or self._place.initiates != (self._initiates or [])
                or _looks(machines) != _looks(self._sent)
                or ((machines or self._platforms) and loop.time() >= due)
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
        unlisted, platforms, initiates = self._place.unlisted, self._platforms, self._place.initiates
        news = platforms != self._told
        report = MoveReport(
            cloudlet=self._cloudlet,
            progress=progress,
            machines=machines,
            unlisted=unlisted,
            platforms=platforms if news else None,
            load=host_load.look() if platforms else None,
            initiates=initiates if news or initiates != self._initiates else None,
        )
        await self._controller.moves(report)
        self._sent, self._said, self._told, self._initiates = machines, "", platforms, initiates
        self._place.known(machines)


def _looks(machines: list[MachineState]) -> list[object]:
    """Return the parts of the machines whose change is news: not the figures, which always change while a machine
    runs."""
    return [(state.name, state.condition, state.serving, state.detail) for state in machines]
