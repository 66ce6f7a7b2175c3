"""Reports sightings to the controller."""

import asyncio
import logging
from contextlib import suppress
from typing import Protocol

from agents.backoff import Backoff
from agents.controller.client import ControllerAway, ControllerRefused
from agents.sightings.buffer import Buffer, sightings
from controller.wire.sightings import How, SightingReport

log = logging.getLogger(__name__)

UNUSABLE = (400, 404, 405, 413, 422)
"""Status codes that mean: the controller will never take this report, or it is of a former release and takes none."""

PAUSE = 0.1
"""Seconds between two reports."""


class Away(Protocol):
    """The part of the controller that a reporter needs."""

    async def sightings(self, report: SightingReport) -> None:
        """Send a report to the controller. Raises ControllerAway or ControllerRefused."""


class Reporter:
    """`tell` keeps a sighting; `run` reports the kept ones until it is cancelled."""

    def __init__(self, cloudlet: str, controller: Away, buffer: Buffer | None = None) -> None:
        self._cloudlet, self._controller = cloudlet, controller
        self._buffer = buffer if buffer is not None else Buffer()
        self._news = asyncio.Event()

    def tell(self, endpoint: str, address: str, how: How, mac: str | None) -> None:
        """Keep a sighting of just now."""
        before = self._buffer.due
        self._buffer.add(endpoint, address, how, mac, asyncio.get_running_loop().time())
        if self._buffer.due != before:
            self._news.set()

    async def run(self) -> None:
        """Report until it is cancelled."""
        backoff = Backoff(first=0.2, cap=20.0)
        while True:
            await self._wait()
            try:
                await self._hand_over()
            except ControllerAway as away:
                log.debug("sightings are kept until the controller is back: %s", away)
                await asyncio.sleep(backoff.delay())
            else:
                backoff.reset()
                await asyncio.sleep(PAUSE)

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        while (due := self._buffer.due) is None or due > loop.time():
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._news.wait()

    async def _hand_over(self) -> None:
        now = asyncio.get_running_loop().time()
        taken = self._buffer.take(now)
        if not taken:
            return
        try:
            await self._controller.sightings(SightingReport(cloudlet=self._cloudlet, sightings=sightings(taken, now)))
        except ControllerRefused as refused:
            if refused.status not in UNUSABLE:
                self._buffer.put_back(taken, now)
                raise ControllerAway(str(refused)) from refused
            log.error("%d sightings are given up, the controller does not take them: %s", len(taken), refused)
        except BaseException:
            self._buffer.put_back(taken, now)
            raise
