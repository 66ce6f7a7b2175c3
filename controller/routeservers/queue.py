"""The queue of messages to a route server, sent one after the other; each has a future for its outcome."""

import asyncio
import math
from dataclasses import dataclass
from typing import TypeVar

from controller.wire.rulesets import Change, Receipt, RuleSet
from controller.wire.tracing import Span

T = TypeVar("T")

SPARE = 5
"""Seconds by which a trial is longer at a route server than at the controller, so that the controller ends it."""

LONGEST = 86_400
"""The longest trial in seconds that a route server takes."""


@dataclass(frozen=True)
class RulesOnTrial:
    """The rules that a trial falls back to, and the seconds until then."""

    fallback: RuleSet
    seconds: float

    @property
    def within(self) -> int:
        """The whole seconds of the trial at a route server."""
        return min(max(math.ceil(self.seconds), 0) + SPARE, LONGEST)


@dataclass(frozen=True)
class Sending:
    """A change to make, on trial for `within` seconds if that is not None. `span`: its part in the trace of the request
    that it is of."""

    change: Change
    within: int | None
    receipt: asyncio.Future[Receipt | None]
    span: Span


@dataclass(frozen=True)
class Confirming:
    """A trial to end."""

    generation: int
    done: asyncio.Future[bool]


@dataclass(frozen=True)
class Asking:
    """A question about a change that this or another replica has sent, or is about to send."""

    generation: int
    receipt: asyncio.Future[Receipt | None]


@dataclass(frozen=True)
class Checking:
    """A heartbeat to the route server, and a check whether the changes of other replicas are in force there."""


@dataclass(frozen=True)
class Handover:
    """This replica has become the leader, or leads no longer."""


Item = Sending | Confirming | Asking | Checking | Handover


class Queue:
    """Takes no changes or questions while it is not `open`, because the route server is away. `unsent` counts waiting
    changes."""

    def __init__(self) -> None:
        self.open = False
        self.unsent = 0
        self._items: asyncio.Queue[Item] = asyncio.Queue()

    def submit(self, change: Change, trial: RulesOnTrial | None, span: Span) -> asyncio.Future[Receipt | None]:
        """Queue a change. Returns a future for its receipt, None if the route server is, or goes, away."""
        future: asyncio.Future[Receipt | None] = asyncio.get_running_loop().create_future()
        if self.open:
            self._items.put_nowait(Sending(change, trial.within if trial else None, future, span))
            self.unsent += 1
        else:
            future.set_result(None)
            _end(span)
        return future

    def confirm(self, generation: int) -> asyncio.Future[bool]:
        """Queue the end of a trial. The future has False if the route server is, or goes, away."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self.open:
            self._items.put_nowait(Confirming(generation, future))
        else:
            future.set_result(False)
        return future

    def ask(self, generation: int) -> asyncio.Future[Receipt | None]:
        """Queue a question about a change that was sent before. The future has None if the route server does not have
        the change, or is away."""
        future: asyncio.Future[Receipt | None] = asyncio.get_running_loop().create_future()
        if self.open:
            self._items.put_nowait(Asking(generation, future))
        else:
            future.set_result(None)
        return future

    def check(self) -> None:
        """Queue a check whether the changes of other replicas are in force."""
        self._items.put_nowait(Checking())

    def hand_over(self) -> None:
        """Queue the end of this replica's present role, as the leader or as another replica."""
        self._items.put_nowait(Handover())

    async def get(self) -> Item:
        """Wait for the next item and return it."""
        item = await self._items.get()
        if isinstance(item, Sending):
            self.unsent -= 1
        return item

    def close(self) -> None:
        """Close the queue because the route server is away. Items that wait, and later ones until it is opened again,
        have no outcome."""
        self.open = False
        while not self._items.empty():
            match self._items.get_nowait():
                case Sending(_, _, receipt, span):
                    self.unsent -= 1
                    resolve(receipt, None)
                    _end(span)
                case Confirming(_, done):
                    resolve(done, False)
                case Asking(_, receipt):
                    resolve(receipt, None)
                case Checking() | Handover():
                    pass


def _end(span: Span) -> None:
    span.fail("the route server is away")
    span.end()


def resolve(future: asyncio.Future[T], outcome: T) -> None:
    """Settle a future, unless its waiter has gone."""
    if not future.done():
        future.set_result(outcome)
