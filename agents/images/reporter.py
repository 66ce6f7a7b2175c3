"""Reports on images to the controller: after each change, and not too often while bytes come."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from agents.backoff import Backoff
from agents.controller.client import ControllerAway, ControllerRefused
from controller.wire.images import ImageReport

log = logging.getLogger(__name__)

INTERVAL = 5.0
"""Seconds between two reports."""


class Reports(Protocol):
    """The part of the controller that this module needs."""

    async def images(self, report: ImageReport) -> None:
        """Send a report to the controller. Raises ControllerAway or ControllerRefused."""


class Reporter:
    """`report` returns the images as they are now. A cloudlet that never had any reports none."""

    def __init__(self, controller: Reports, report: Callable[[], ImageReport]) -> None:
        self._controller, self._report = controller, report
        self._due = asyncio.Event()

    def wake(self) -> None:
        """Report what has changed."""
        self._due.set()

    async def run(self) -> None:
        """Work until cancelled."""
        backoff, told = Backoff(), None
        while True:
            await self._due.wait()
            self._due.clear()
            report = self._report()
            if report == told or (told is None and not report.images):
                continue
            try:
                await self._controller.images(report)
            except (ControllerAway, ControllerRefused) as error:
                log.debug("images are reported later: %s", error)
                await asyncio.sleep(backoff.delay())
                self._due.set()
                continue
            told = report
            backoff.reset()
            await asyncio.sleep(INTERVAL)
