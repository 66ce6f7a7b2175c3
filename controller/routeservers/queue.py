"""What is to be said to a route server, one thing after the other; each with a future for what comes of it."""

import asyncio
import math
from dataclasses import dataclass
from typing import TypeVar

from controller.wire.rulesets import Change, Receipt, RuleSet

T = TypeVar("T")

SPARE = 5
"""Seconds that a route server has for a trial beyond the controller's own, so that it does not act in its place."""

LONGEST = 86_400
"""Seconds that a route server takes for a trial at most."""


@dataclass(frozen=True)
class RulesOnTrial:
    """What is on trial falls back to these rules in so many seconds."""

    fallback: RuleSet
    seconds: float

    @property
    def within(self) -> int:
        """Whole seconds that a route server is given."""
        return min(max(math.ceil(self.seconds), 0) + SPARE, LONGEST)


@dataclass(frozen=True)
class Sending:
    """A change to make, on trial for `within` seconds if that is not None."""

    change: Change
    within: int | None
    receipt: asyncio.Future[Receipt | None]


@dataclass(frozen=True)
class Confirming:
    """A trial to end."""

    generation: int
    done: asyncio.Future[bool]


@dataclass(frozen=True)
class Asking:
    """A change that was sent already, or is to be, by another replica."""

    generation: int
    receipt: asyncio.Future[Receipt | None]


@dataclass(frozen=True)
class Checking:
    """A word to the route server, and a look whether what other replicas have changed is in force there."""


@dataclass(frozen=True)
class Handover:
    """This replica has come to lead, or does not lead any more."""


Item = Sending | Confirming | Asking | Checking | Handover


class Queue:
    """Takes nothing while it is not `open`: the route server is away then. `unsent` counts changes that wait."""

    def __init__(self) -> None:
        self.open = False
        self.unsent = 0
        self._items: asyncio.Queue[Item] = asyncio.Queue()

    def submit(self, change: Change, trial: RulesOnTrial | None = None) -> asyncio.Future[Receipt | None]:
        """Queues a change. Gives its receipt, or None when the route server is, or goes, away."""
        future: asyncio.Future[Receipt | None] = asyncio.get_running_loop().create_future()
        if self.open:
            self._items.put_nowait(Sending(change, trial.within if trial else None, future))
            self.unsent += 1
        else:
            future.set_result(None)
        return future

    def confirm(self, generation: int) -> asyncio.Future[bool]:
        """Queues the end of a trial. False when the route server is, or goes, away."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self.open:
            self._items.put_nowait(Confirming(generation, future))
        else:
            future.set_result(False)
        return future

    def ask(self, generation: int) -> asyncio.Future[Receipt | None]:
        """What has become of a change that was sent before. None when the route server does not have it, or is away."""
        future: asyncio.Future[Receipt | None] = asyncio.get_running_loop().create_future()
        if self.open:
            self._items.put_nowait(Asking(generation, future))
        else:
            future.set_result(None)
        return future

    def check(self) -> None:
        """Queues a look whether what other replicas have changed is in force."""
        self._items.put_nowait(Checking())

    def hand_over(self) -> None:
        """Queues the end of what this replica does as the leader, or as one that does not lead."""
        self._items.put_nowait(Handover())

    async def get(self) -> Item:
        """The next item, when there is one."""
        item = await self._items.get()
        if isinstance(item, Sending):
            self.unsent -= 1
        return item

    def close(self) -> None:
        """The route server is away: nothing comes of what waits, nor of what is queued until it is opened again."""
        self.open = False
        while not self._items.empty():
            match self._items.get_nowait():
                case Sending(_, _, receipt):
                    self.unsent -= 1
                    resolve(receipt, None)
                case Confirming(_, done):
                    resolve(done, False)
                case Asking(_, receipt):
                    resolve(receipt, None)
                case Checking() | Handover():
                    pass


def resolve(future: asyncio.Future[T], outcome: T) -> None:
    """Says what came of it, unless nobody waits any more."""
    if not future.done():
        future.set_result(outcome)
