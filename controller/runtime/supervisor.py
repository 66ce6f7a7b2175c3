"""Starts a controller's services, watches them, and closes them."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from controller.runtime.service import LoopReturned, Service

log = logging.getLogger(__name__)


class Ended(Exception):  # noqa: N818 - it says what is
    """A service has ended by itself, and the controller with it; the message has the reason."""


class Supervisor:
    """Runs services for the time of an `async with` block. When a service ends by itself, `failed` is called with the
    reason and must end the block, because a controller without that service would answer and not act."""

    def __init__(self, services: Sequence[Service], failed: Callable[[str], None]) -> None:
        self._services, self._failed = services, failed
        self._started: list[Service] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._reason = ""

    async def __aenter__(self) -> Self:
        """Start the services in order, and run each before the next one starts. If a `start` raises, the services begun
        so far are closed and the error is raised again. Raises Ended if a running service ends meanwhile."""
        try:
            for service in self._services:
                self._started.append(service)
                await self._start(service)
                task = asyncio.create_task(service.run(), name=service.name)
                task.add_done_callback(partial(self._ended, service.name))
                self._tasks.append(task)
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    async def _start(self, service: Service) -> None:
        """Start a service. It may wait for one that runs, so it is not waited for once one of those has ended."""
        starting = asyncio.ensure_future(service.start())
        try:
            await asyncio.wait([starting, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
            if self._reason:
                raise Ended(self._reason)
            await starting
        finally:
            starting.cancel()
            await asyncio.wait([starting])

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for service in reversed(self._started):
            try:
                await service.close()
            except Exception as error:  # the database may be away; the others must be closed all the same
                log.warning("%s could not write or close everything: %s", service.name, error)

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        match task.exception():
            case None:
                reason = f"{name} ended"
            case LoopReturned() as loop:
                reason = f"{name} ended: {loop} returned"
            case error:
                reason = f"{name} failed: {error!r}"
        log.critical("%s, and the controller ends", reason, exc_info=task.exception())
        self._reason = self._reason or reason
        self._failed(reason)
