"""The parts of a controller that run, one for each package (docs/contribute/decisions.md)."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ClassVar, Protocol

from controller.runtime.task_group import task_group

Loop = Callable[[], Awaitable[None]]
"""Work that runs until it is cancelled."""


class Service:
    """A package's running part. A supervisor starts services in order, and closes them in reverse order."""

    name: ClassVar[str]
    """The service's name in the log, and in the reason for which a controller ends."""

    async def start(self) -> None:
        """Prepare what `run`, or a later service, reads. The controller does not start if this raises."""

    async def run(self) -> None:
        """Work until cancelled. The controller ends if this raises, or returns."""
        await forever()

    async def close(self) -> None:
        """Write unwritten data and close connections. `run` has ended before."""


class Leader(Protocol):
    """Tells whether this replica does the region's background work (`controller.replication.leadership`)."""

    @property
    def leading(self) -> bool: ...

    def lead(self, work: Loop) -> Coroutine[Any, Any, None]: ...


class LoopReturned(Exception):  # noqa: N818 - it says what has happened
    """A loop has returned that must run until it is cancelled."""


async def forever(*loops: Loop) -> None:
    """Run loops concurrently until cancelled. Raises the first error of a loop, or LoopReturned if a loop returns."""
    await task_group(_rest(), *(_without_end(loop) for loop in loops))


async def _without_end(loop: Loop) -> None:
    await loop()
    raise LoopReturned(getattr(getattr(loop, "func", loop), "__qualname__", repr(loop)))


async def _rest() -> None:
    await asyncio.Event().wait()
