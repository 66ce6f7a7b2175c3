"""Reports the rounds to the controller: in batches, again until the controller has them, and never all agents at
once."""

import asyncio
import logging
import secrets
from contextlib import suppress
from random import random
from typing import Protocol

from agents.backoff import Backoff
from agents.controller.client import ControllerAway, ControllerRefused
from agents.neighbours.buffer import BATCH, Buffer
from agents.neighbours.samples import Round
from controller.wire.neighbours import NeighbourReport

log = logging.getLogger(__name__)

SOON = 2.0
"""Seconds until the first rounds with a new candidate are reported. Several of them share a report."""

PAUSE = 0.5
"""Seconds between two reports, if one does not hold all rounds."""

UNUSABLE = (400, 413, 422)
"""Status codes that mean: the controller will never take this report. It is given up, or it would hold back all later
ones."""


class Away(Protocol):
    """The part of the controller that a reporter needs."""

    async def neighbours(self, report: NeighbourReport) -> None:
        """Send a report to the controller. Raises ControllerAway or ControllerRefused."""


class Reporter:
    """`tell` keeps a round; `run` reports the kept ones until it is cancelled."""

    def __init__(self, cloudlet: str, controller: Away, buffer: Buffer | None = None) -> None:
        self._cloudlet, self._controller = cloudlet, controller
        self._buffer = buffer if buffer is not None else Buffer()
        self._run = secrets.token_hex(8)
        self._due: float | None = None
        self._sooner = asyncio.Event()
        self._interval = 60.0

    def pace(self, seconds: float) -> None:
        """Set the seconds between two reports. Rounds that wait already do not wait longer than that."""
        self._interval = max(seconds, 0.1)
        if self._due is not None:
            self._sooner_at(self._next(asyncio.get_running_loop().time()))

    def tell(self, neighbour: str, found: Round, soon: bool) -> None:
        """Keep a round that has just ended."""
        now = asyncio.get_running_loop().time()
        self._buffer.add(neighbour, now, found)
        if soon or self._due is None:
            self._sooner_at(now + min(SOON, self._interval) if soon else self._next(now))

    def _sooner_at(self, due: float) -> None:
        if self._due is None or due < self._due:
            self._due = due
            self._sooner.set()

    def _next(self, now: float) -> float:
        return now + self._interval * (0.8 + 0.2 * random())

    async def run(self) -> None:
        """Report until it is cancelled."""
        backoff = Backoff(first=1.0, cap=60.0)
        said = ""
        while True:
            await self._wait()
            self._due = None  # a round that ends from here on may be too late for this report
            try:
                await self._hand_over()
                while len(self._buffer) >= BATCH:
                    await asyncio.sleep(PAUSE)
                    await self._hand_over()
            except (ControllerAway, ControllerRefused) as error:
                if str(error) != said:
                    log.info("rounds are kept until the controller takes them: %s", error)
                said = str(error)
                await asyncio.sleep(backoff.delay())
                self._due = asyncio.get_running_loop().time()
            else:
                backoff.reset()
                said = ""
                if not len(self._buffer):
                    self._due = None
                elif self._due is None:
                    self._due = self._next(asyncio.get_running_loop().time())

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        while self._due is None or loop.time() < self._due:
            self._sooner.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if self._due is None else self._due - loop.time()):
                    await self._sooner.wait()

    async def _hand_over(self) -> None:
        batch = self._buffer.batch(asyncio.get_running_loop().time())
        report = NeighbourReport(
            cloudlet=self._cloudlet, run=self._run, dropped=self._buffer.dropped, measurements=batch
        )
        try:
            await self._controller.neighbours(report)
        except ControllerRefused as refused:
            if refused.status not in UNUSABLE:
                raise
            log.error("%d rounds are given up, the controller does not understand them: %s", len(batch), refused)
            self._buffer.acknowledge(batch[-1].number, refused=True)
        else:
            self._buffer.acknowledge(batch[-1].number)
