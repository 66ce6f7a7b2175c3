"""Sends the agent's reports: the newest one after each difference, and at regular intervals."""

import asyncio
import logging

from agents.backoff import Backoff
from agents.controller.client import Controller, ControllerAway, ControllerRefused
from agents.controller.report import same
from controller.wire.reports import Report

log = logging.getLogger(__name__)


class Reporter:
    """Keeps the newest report, `last`, and sends it when it differs from the one that the controller has, or that is
    `interval` seconds old. `run()` works until it is cancelled."""

    def __init__(self, controller: Controller, interval: float) -> None:
        self._controller, self._interval = controller, interval
        self._due = asyncio.Event()
        self._sent: Report | None = None
        self._sent_at = 0.0
        self.last: Report | None = None

    def offer(self, report: Report) -> None:
        """Take a newer report."""
        self.last = report
        overdue = asyncio.get_running_loop().time() >= self._sent_at + self._interval
        if overdue or self._sent is None or not same(report, self._sent):
            self._due.set()

    def again(self) -> None:
        """Send the newest report again, as to a controller that has just started and has none."""
        self._sent = None
        self._due.set()

    async def run(self) -> None:
        """Send reports until cancelled."""
        backoff = Backoff()
        while True:
            await self._due.wait()
            self._due.clear()
            report = self.last
            if report is None:
                continue
            try:
                await self._controller.report(report)
            except (ControllerAway, ControllerRefused) as error:
                log.debug("report: %s", error)
                await asyncio.sleep(backoff.delay())
                self._due.set()
            else:
                backoff.reset()
                self._sent, self._sent_at = report, asyncio.get_running_loop().time()
