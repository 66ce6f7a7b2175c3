"""Many who wait for a write, and few writes: whoever comes while one runs is served by the next, with the others."""

import asyncio
from collections.abc import Awaitable, Callable


class GroupCommit:
    """`write` takes along what there is to write when it is called, and never runs twice at a time."""

    def __init__(self, write: Callable[[], Awaitable[None]]) -> None:
        self._write = write
        self._waiting: list[asyncio.Future[None]] = []
        self._writing: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        return self._writing is None

    async def written(self) -> None:
        """Returns when a `write` that was called after this has ended. Raises what it raised."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        if self._writing is None:
            self._writing = asyncio.create_task(self._work())
        await done

    async def close(self) -> None:
        """Finishes what is being written."""
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)

    async def _work(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            failed: Exception | None = None
            try:
                await self._write()
            except Exception as error:
                failed = error
            for done in waiting:
                if done.done():  # who waited was cancelled
                    continue
                if failed is None:
                    done.set_result(None)
                else:
                    done.set_exception(failed)
        self._writing = None
