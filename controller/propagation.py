"""Brings every change to a route server, in order, and the route server up to date when it was away.

One task per route server. While it is in step, changes go out one after the other; a change it cannot take (another
generation, or an answer that was lost) is replaced by the whole rule set. While it is away, changes are reported
unreachable at once, and once a second it is asked whether it is back. What it has is compared document by document, not
by generation alone, so that a database put back from a copy cannot go unnoticed (`controller.precedence`).

A change on trial: the database says how it ends. A route server ends it by itself only if it hears nothing of that for
so long that the controller must be away; it is then behind, at the generation from before, and is brought up to date by
the controller's next word, whichever that is.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from controller.core.restored import claim
from controller.precedence import Precedence
from controller.routeservers import OtherGeneration, RefusedByRouteServer, RouteServerClient, ServerEvent, Unreachable
from controller.wire.rulesets import Change, Receipt, RuleSet

log = logging.getLogger(__name__)

T = TypeVar("T")

RETRY = 1.0
"""Seconds between two attempts to reach a route server that is away."""

HEARTBEAT = 2.0
"""Seconds between two words to a route server: one that hears none for 5 s looks at what its twin has."""

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


class Held(Exception):  # noqa: N818 - a condition that passes
    """Nothing is to be sent to the route server now; the message says why."""


class Propagation:
    """One route server. `current` gives the rule set as it is now, `on_trial` what that falls back to; `heard` takes
    the server's events, and `last_heard` says where to go on after; `turned` is told when it comes and goes, `refresh`
    looks whether the database knows more, and `overtake` makes a generation greater than one that a server was found
    ahead with, if `precedence` allows it."""

    def __init__(
        self,
        name: str,
        client: RouteServerClient,
        current: Callable[[], RuleSet],
        on_trial: Callable[[], RulesOnTrial | None],
        heard: Callable[[str, str, ServerEvent], Awaitable[None]],
        last_heard: Callable[[str, str], Awaitable[int]],
        turned: Callable[[str, bool, str], Awaitable[None]],
        refresh: Callable[[], Awaitable[None]],
        overtake: Callable[[str, int], Awaitable[None]],
        precedence: Precedence,
    ) -> None:
        self.name = name
        self.client = client
        self.reachable = False
        self.error = "not reached yet"
        self.generation: int | None = None
        self._current, self._on_trial, self._heard, self._turned = current, on_trial, heard, turned
        self._last_heard, self._refresh, self._overtake = last_heard, refresh, overtake
        self._precedence = precedence
        self._queue: asyncio.Queue[Sending | Confirming] = asyncio.Queue()
        self._latest: Receipt | None = None
        self._started_at = ""
        self._seen = 0
        self._busy = False

    def submit(self, change: Change, trial: RulesOnTrial | None = None) -> asyncio.Future[Receipt | None]:
        """Queues a change. Gives its receipt, or None when the route server is, or goes, away."""
        future: asyncio.Future[Receipt | None] = asyncio.get_running_loop().create_future()
        if self.reachable:
            self._queue.put_nowait(Sending(change, trial.within if trial else None, future))
        else:
            future.set_result(None)
        return future

    def confirm(self, generation: int) -> asyncio.Future[bool]:
        """Queues the end of a trial. False when the route server is, or goes, away."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self.reachable:
            self._queue.put_nowait(Confirming(generation, future))
        else:
            future.set_result(False)
        return future

    async def run(self) -> None:
        """Works until cancelled."""
        try:
            while True:
                try:
                    await self._catch_up()
                    await self._stay_in_step()
                except (Unreachable, Held) as error:
                    await self._away(str(error))
                except (OtherGeneration, RefusedByRouteServer) as error:
                    await self._away(f"refuses the rule set: {error}")
                await asyncio.sleep(RETRY)
        finally:
            self.reachable = False
            self._fail_waiting()

    async def _catch_up(self) -> None:
        """Confirms what the server has if it is the current rule set, and replaces it if not."""
        try:
            status = await self.client.status()
            found = await self.client.rule_set()
        except (Unreachable, OtherGeneration, RefusedByRouteServer):
            self._precedence.tried(self.name)
            raise
        started_at = str(status.get("started_at"))
        if started_at != self._started_at:
            self._seen, self._started_at = await self._last_heard(self.name, started_at), started_at
        while True:
            if _ahead(found, self._current()):
                await self._refresh()
            wanted = self._current()
            contested = self._precedence.contested(self.name)
            if found != wanted:
                await self._hold(status, found, wanted)
            if contested or _ahead(found, wanted):
                # Also what agents have may be from a time that the database knows nothing of, at the same version.
                await self._precedence.see(self.name, found.generation)
                await self._overtake(self.name, found.generation)
                continue
            if found != wanted:
                log.info("%s: generation %s, sending %s whole", self.name, found.generation, wanted.generation)
                await self._replace(wanted)
                found = wanted
                continue
            await self._precedence.see(self.name, found.generation)
            if held := await self._precedence.settle():
                raise Held(f"not confirmed: {held}")
            trial = self._on_trial()
            if trial is None:
                await self.client.confirm(found.generation)
            else:
                await self.client.replace(wanted, trial.within)
            if found.generation == self._current().generation and (trial is None) == (self._on_trial() is None):
                break
        self.generation, self.reachable, self.error = found.generation, True, ""

    async def _hold(self, status: dict[str, Any], found: RuleSet, wanted: RuleSet) -> None:
        """Raises Held if what was found there is to stay for now."""
        ahead, trial = _ahead(found, wanted), status.get("confirm_by")
        if ahead and trial and status.get("fallback") == wanted.generation:
            raise Held(f"generation {found.generation} is on trial there until {trial}")
        contested = self._precedence.contested(self.name) or (ahead and not trial)
        why = claim(self.name, found, wanted) if contested else ""
        await self._precedence.see(self.name, found.generation, why)
        if held := await self._precedence.settle():
            raise Held(held)

    async def _replace(self, wanted: RuleSet) -> Receipt:
        """Sends everything. What is on trial has to fall back to what was in force before, and to nothing older."""
        if (trial := self._on_trial()) is None:
            return await self.client.replace(wanted)
        if (await self.client.rule_set()).generation < trial.fallback.generation:
            await self.client.replace(trial.fallback)
        return await self.client.replace(wanted, trial.within)

    async def _stay_in_step(self) -> None:
        await self._turned(self.name, True, "")
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow())
                tasks.create_task(self._serve())
                tasks.create_task(self._keep_in_touch())
        except ExceptionGroup as group:
            away = (Unreachable, OtherGeneration, RefusedByRouteServer)
            if group.split(away)[1] is not None:
                raise
            raise Unreachable(str(group.exceptions[0])) from None

    async def _serve(self) -> None:
        while True:
            match await self._queue.get():
                case Sending(change, within, receipt):
                    await self._answer(receipt, self._bring(change, within), None)
                case Confirming(generation, done):
                    await self._answer(done, self._confirm(generation), False)

    async def _answer(self, future: asyncio.Future[T], work: Awaitable[T], otherwise: T) -> None:
        """The outcome of the work, or what is said when there is none."""
        self._busy = True
        try:
            outcome = await work
        except BaseException:
            _resolve(future, otherwise)
            raise
        finally:
            self._busy = False
        _resolve(future, outcome)

    async def _keep_in_touch(self) -> None:
        """Repeats the generation, beside the changes: an answer that one of them has overtaken says nothing."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            generation = self.generation
            if self._busy or generation is None:
                continue  # a change is a sign of life as well
            try:
                await self.client.heartbeat(generation)
            except OtherGeneration:
                if not self._busy and self.generation == generation:
                    raise
            except RefusedByRouteServer:
                return  # a release that does not listen for it

    async def _confirm(self, generation: int) -> bool:
        await self.client.confirm(generation)
        return True

    async def _bring(self, change: Change, within: int | None) -> Receipt | None:
        if not change.dry_run and self.generation is not None and change.generation <= self.generation:
            return self._latest  # it went with a whole rule set that was sent since
        try:
            if change.base != self.generation:
                raise OtherGeneration(f"{self.name} is at {self.generation}")
            receipt = await self.client.change(change, within)
        except (OtherGeneration, RefusedByRouteServer, Unreachable) as error:
            if change.dry_run and not isinstance(error, OtherGeneration):
                return None
            log.warning("%s: %s; sending the whole rule set", self.name, error)
            rules = self._current()
            receipt = await self._replace(rules)
            self.generation, self._latest = rules.generation, receipt
            return None if change.dry_run else receipt
        if not change.dry_run:
            self.generation, self._latest = change.generation, receipt
        return receipt

    async def _follow(self) -> None:
        async for event in self.client.events(self._seen):
            await self._heard(self.name, self._started_at, event)
            self._seen = max(self._seen, event.number)

    async def _away(self, reason: str) -> None:
        was, self.reachable, self.generation, self.error = self.reachable, False, None, reason
        self._fail_waiting()
        if was:
            log.warning("%s is away: %s", self.name, reason)
            await self._turned(self.name, False, reason)

    def _fail_waiting(self) -> None:
        while not self._queue.empty():
            match self._queue.get_nowait():
                case Sending(_, _, receipt):
                    _resolve(receipt, None)
                case Confirming(_, done):
                    _resolve(done, False)


def _ahead(found: RuleSet, wanted: RuleSet) -> bool:
    return found != wanted and found.generation >= wanted.generation


def _resolve(future: asyncio.Future[T], outcome: T) -> None:
    if not future.done():
        future.set_result(outcome)
