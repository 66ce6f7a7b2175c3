"""Echoes on their way: one socket, many answers."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from agents.neighbours import clocks
from agents.neighbours.clocks import Moment


@dataclass(frozen=True, slots=True)
class Asked:
    """The address that was asked, the time, and the answer to come."""

    address: str
    sent: Moment
    answer: "asyncio.Future[float]"


class Waiting:
    """The waiting echoes by number. Numbers are below `numbers`, and are used again long after their time is over."""

    def __init__(self, numbers: int) -> None:
        self._numbers, self._last = numbers, 0
        self._asked: dict[int, Asked] = {}

    def ask(self, address: str) -> tuple[int, Asked]:
        """Return a number for a packet that leaves now."""
        self._last = (self._last + 1) % self._numbers
        asked = Asked(address, clocks.now(), asyncio.get_running_loop().create_future())
        self._asked[self._last] = asked
        return self._last, asked

    def answered(self, number: int, address: str, came: Moment, elsewhere_ms: float = 0.0) -> None:
        """Take in an answer. It spent `elsewhere_ms` of its time in the other end's program."""
        asked = self._asked.get(number)
        if asked is None or asked.address != address or asked.answer.done():
            return
        took = clocks.milliseconds(asked.sent, came, clocks.now())
        asked.answer.set_result(took - elsewhere_ms if 0 < elsewhere_ms < took else took)

    async def wait(self, number: int, seconds: float) -> float | None:
        """Return the milliseconds that the answer took, or None if there was none in time."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    return await self._asked[number].answer
            return None
        finally:
            del self._asked[number]
