"""Turns of the event loop: at each pass one waiter may begin, and the peers take turns.

A hundred handshakes or requests that arrive together are a hundred pieces of work in one pass, and every other task
waits for all of them. One at a pass costs the same in total, and lets other tasks run in between. The number of waiters
of one peer makes no difference to another peer (fair queueing by round robin, RFC 970)."""

import asyncio
from collections import deque


class Turns:
    """Queues of waiters, one for each peer or caller."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}  # in the order of their next turns
        self._passing = False

    async def wait(self, key: str) -> None:
        """Return when it is the turn of `key`: at once if nobody else has begun in this pass. Cancelling the wait gives
        up the place."""
        mine = asyncio.get_running_loop().create_future()
        self._lines.setdefault(key, deque()).append(mine)
        if not self._passing:
            self._pass()
        await mine

    def _pass(self) -> None:
        self._passing = self._next()
        if self._passing:
            asyncio.get_running_loop().call_soon(self._pass)

    def _next(self) -> bool:
        """Let one waiter begin; return False if there is none. The other waiters of its key are now behind all other
        keys."""
        while self._lines:
            key = next(iter(self._lines))
            line = self._lines.pop(key)
            turn = line.popleft()
            if line:
                self._lines[key] = line
            if not turn.done():
                turn.set_result(None)
                return True
        return False
