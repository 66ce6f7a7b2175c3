"""The replica that does the background work of a region: it holds the lock, which `replicas.py` takes.

A leader leads until its promise ends, by a clock that also runs while the machine is suspended. A leader that has lost
the database, or was suspended, therefore stops by itself before another replica can get the lock."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from controller.runtime.wakeup import Wakeup


def clock() -> float:
    """Return the seconds since the machine was started, including those in which it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Leadership:
    """Whether this replica leads. With `alone` there is no other replica, and this one always leads. `term` counts how
    often it became the leader."""

    def __init__(self, *, alone: bool) -> None:
        self.term = 0
        self._until = math.inf if alone else 0.0
        self._turned = Wakeup()

    @property
    def leading(self) -> bool:
        """Whether this replica leads now."""
        return clock() < self._until

    def promise(self, until: float) -> None:
        """Lead until the time `until`, by `clock`, unless a later promise extends it."""
        was, self._until = self.leading, until
        if not was:
            self.term += 1
            self._turned.ring()

    def resign(self) -> None:
        """Stop leading."""
        self._until = 0.0
        self._turned.ring()

    async def other_than(self, led: bool) -> None:
        """Wait until this replica leads, if `led` is False, or until it leads no longer, if `led` is True."""
        with self._turned.listen() as turned:
            while self.leading == led:
                await self._next(turned)

    async def _next(self, turned: asyncio.Event) -> None:
        """Wait until `promise` or `resign` is called, or the promise ends."""
        left = self._until - clock()
        with suppress(TimeoutError):
            async with asyncio.timeout(left if 0 < left < math.inf else None):
                await turned.wait()
        turned.clear()

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` while this replica leads: start it anew each time that the replica becomes the leader, and cancel
        it when the replica leads no longer. Ends when it is cancelled itself, or with the error of `work`."""
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
        """Wait until this replica leads no longer, or the work fails. Work that returns early is not started again."""
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
