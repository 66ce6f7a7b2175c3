"""Few writes for many tasks that wait for one: all tasks that ask during a write share the next write."""

import asyncio
from collections.abc import Awaitable, Callable


class GroupCommit:
    """A queue in front of `write`, which never runs twice at a time. Each write takes in all data that is there at its
    start."""

    def __init__(self, write: Callable[[], Awaitable[None]]) -> None:
        self._write = write
        self._waiting: list[asyncio.Future[None]] = []
        self._writing: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        return self._writing is None

    async def written(self) -> None:
        """Wait until a `write` that started after this call has ended. Raises the error that the write raised."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        if self._writing is None:
            self._writing = asyncio.create_task(self._work())
        await done

    async def close(self) -> None:
        """Wait until no write runs any more."""
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
                if done.done():  # the task that waited was cancelled
                    continue
                if failed is None:
                    done.set_result(None)
                else:
                    done.set_exception(failed)
        self._writing = None
