"""The replica that does the background work of a region: it holds the lock, which `replicas.py` takes.

A leader leads for no longer than it was promised, by a clock that also runs while the machine is suspended: one that
has lost the database, or was asleep, has stopped by itself before the lock can be somebody else's."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from controller.runtime.wakeup import Wakeup


def clock() -> float:
    """Seconds since the machine was started, those that it slept included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Leadership:
    """`alone`: there is no other replica, and this one leads always. `term` counts how often it came to lead."""

    def __init__(self, *, alone: bool) -> None:
        self.term = 0
        self._until = math.inf if alone else 0.0
        self._turned = Wakeup()

    @property
    def leading(self) -> bool:
        """Whether this replica leads now."""
        return clock() < self._until

    def promise(self, until: float) -> None:
        """It leads until then, by `clock`, unless it is promised more before that."""
        was, self._until = self.leading, until
        if not was:
            self.term += 1
            self._turned.ring()

    def resign(self) -> None:
        """It leads no longer."""
        self._until = 0.0
        self._turned.ring()

    async def other_than(self, led: bool) -> None:
        """Waits until this replica leads, if it did not, or does not any more, if it did."""
        with self._turned.listen() as turned:
            while self.leading == led:
                await self._next(turned)

    async def _next(self, turned: asyncio.Event) -> None:
        """Waits until something is said, or a promise ends."""
        left = self._until - clock()
        with suppress(TimeoutError):
            async with asyncio.timeout(left if 0 < left < math.inf else None):
                await turned.wait()
        turned.clear()

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Does `work` while this replica leads, from its beginning every time that it comes to lead; it is cancelled
        when it does not any more. Ends when it is cancelled itself, or with what `work` raises."""
        with self._turned.listen() as turned:
            while True:
                if not self.leading:
                    await self._next(turned)
                    continue
                task = asyncio.ensure_future(work())
                try:
                    await self._while_leading(task, turned)
                finally:
                    task.cancel()
                    await asyncio.wait([task])
                if not task.cancelled():
                    task.result()

    async def _while_leading(self, task: "asyncio.Future[None]", turned: asyncio.Event) -> None:
        """Waits until this replica does not lead any more. Work that ends early is not begun again."""
        watched: set[asyncio.Future[Any]] = {task}
        while self.leading:
            turned.clear()
            ring = asyncio.ensure_future(turned.wait())
            left = self._until - clock()
            try:
                await asyncio.wait(
                    {*watched, ring},
                    timeout=None if left == math.inf else max(left, 0.0),
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                ring.cancel()
            if task.done():
                if not task.cancelled() and task.exception() is not None:
                    return
                watched = set()
