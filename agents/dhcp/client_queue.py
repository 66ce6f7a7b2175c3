"""Bounded work for many clients: each client's messages in order, one at a time."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from agents.dhcp.pace import Pace

log = logging.getLogger(__name__)

_CLIENTS_AT_ONCE = 64
_WAITING_PER_CLIENT = 4
_TIMEOUT = 8.0  # seconds; a client asks again before that

M = TypeVar("M")


class ClientQueue(Generic[M]):
    """Hands messages to `serve`. The messages of one client come in order, so that a release cannot overtake the
    request before it. Messages above the limits are dropped: clients ask again. `where` is for the log."""

    def __init__(self, where: str, serve: Callable[[M], Awaitable[None]], pace: Pace | None = None) -> None:
        self._where, self._serve = where, serve
        self._pace = pace or Pace()
        self._waiting: dict[bytes, deque[M]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, client: bytes, message: M) -> None:
        """Take in one message of `client`. Never raises."""
        if not self._pace.allows(client, time.monotonic()):
            log.debug("%s: %s asks too often", self._where, client.hex(":"))
            return
        if waiting := self._waiting.get(client):
            if len(waiting) < _WAITING_PER_CLIENT:
                waiting.append(message)
            return
        if len(self._waiting) >= _CLIENTS_AT_ONCE:
            text = "%s: %d clients are being served; %s has to wait"
            log.warning(text, self._where, _CLIENTS_AT_ONCE, client.hex(":"))
            return
        self._waiting[client] = deque([message])
        task = asyncio.create_task(self._work(client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Cancel all work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._waiting.clear()

    async def _work(self, client: bytes) -> None:
        waiting = self._waiting[client]
        try:
            while waiting:
                try:
                    async with asyncio.timeout(_TIMEOUT):
                        await self._serve(waiting[0])
                except Exception as error:
                    # The plan cannot be reached or is wrong: no answer, and the client asks again.
                    text = str(error) or type(error).__name__
                    log.warning("%s: no answer to %s of %s: %s", self._where, waiting[0], client.hex(":"), text)
                waiting.popleft()
        finally:
            self._waiting.pop(client, None)
