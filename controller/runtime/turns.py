"""Turns of the event loop: at each pass one may begin, and those that wait do so peer by peer.

A hundred handshakes or requests that arrive together are a hundred pieces of work in one pass, and everybody else's
next step waits for all of them. One at a pass costs the same in all, and lets others in between. How many of one peer
wait makes no difference to another's (fair queueing by round robin, RFC 970).
"""

import asyncio
from collections import deque


class Turns:
    """Waiting lines, one for each peer or caller."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}  # in the order in which they have their next turn
        self._passing = False

    async def wait(self, key: str) -> None:
        """Return when it is the turn of `key`: at once if nobody else has begun in this pass. Cancelling it gives up
        the place."""
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
        """Let one begin; False if nobody waits. The other ones of the same key are behind all other keys now."""
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
