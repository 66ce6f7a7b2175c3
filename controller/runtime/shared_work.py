"""Costly work whose result several callers share.

Ten people who look at one page ask for the same comparison. It is at work at most once at a time, and all who ask
meanwhile share the next one (as in a database's group commit). So each gets the result of work that began after the
question, and nobody sees the state before a change of their own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class SharedWork(Generic[_T]):
    """Does `work` whenever somebody waits for its result, while `run` runs."""

    def __init__(self, work: Callable[[], Awaitable[_T]]) -> None:
        self._work = work
        self._asked = asyncio.Event()
        self._next: asyncio.Future[_T] | None = None

    async def result(self) -> _T:
        """Return the result of work that begins after this call. Raises the work's error. Cancelling the wait leaves
        the work to the others."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            self._asked.set()
        return await asyncio.shield(self._next)

    async def run(self) -> None:
        """Work until cancelled; then the waits are cancelled too."""
        try:
            while True:
                await self._asked.wait()
                self._asked.clear()
                promised, self._next = self._next, None
                if promised is not None:
                    await self._keep(promised)
        finally:
            if self._next is not None:
                self._next.cancel()

    async def _keep(self, promised: asyncio.Future[_T]) -> None:
        try:
            promised.set_result(await self._work())
        except Exception as error:
            promised.set_exception(error)
            promised.exception()  # everybody who asked may have gone, and then nobody else looks at it
        finally:
            promised.cancel()  # without effect once it is kept
