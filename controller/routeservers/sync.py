"""Brings every change to a route server, in order, and the route server up to date when it was away.

One task per route server. While it is in step, changes go out one after the other; a change it cannot take (another
generation, or an answer that was lost) is replaced by the whole rule set. While it is away, changes are reported
unreachable at once, and once a second it is asked whether it is back. What it has is compared document by document, not
by generation alone, so that a database put back from a copy cannot go unnoticed (`controller.routeservers.precedence`).

A change on trial: the database says how it ends. A route server ends it by itself only if it hears nothing of that for
so long that the controller must be away; it is then behind, at the generation from before, and is brought up to date by
the controller's next word, whichever that is.

Of several replicas, the leader brings route servers up to date, and says who is right. The maker of a change sends it:
nobody can do so sooner. If its base is another replica's change that is on its way it waits for that; if it does not
come, because its maker has died, or if the leader sees that a change has not come, everything is sent. A route server
takes no generation that is not later, so the order in which they do so makes no difference.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from controller.core.restored import claim
from controller.core.unavailable import Unavailable
from controller.replication.leadership import Leadership
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, RouteServerClient, Unreachable
from controller.routeservers.precedence import Precedence
from controller.routeservers.queue import Asking, Checking, Confirming, Handover, Queue, RulesOnTrial, Sending, resolve
from controller.runtime.event_log import ServerEvent
from controller.runtime.task_group import task_group
from controller.wire.rulesets import Change, PeerReceipt, Receipt, RuleSet

log = logging.getLogger(__name__)

T = TypeVar("T")

RETRY = 1.0
"""Seconds between two attempts to reach a route server that is away."""

HEARTBEAT = 2.0
"""Seconds between two words to a route server: one that hears none for 5 s looks at what its twin has."""

GRACE = 0.25
"""Seconds in which a change that another replica has made comes to a route server, or will not come from there."""

LOOKS = 8
"""Looks at a route server that is just being changed by another replica, before it counts as not in step."""


class Held(Exception):  # noqa: N818 - a condition that passes
    """Nothing is to be sent to the route server now; the message says why."""


class HandedOver(Exception):  # noqa: N818 - a condition that passes
    """What this replica does for the route server is another thing now."""


class RouteServerSync(Queue):
    """One route server. `current` gives the rule set as it is now, `on_trial` what that falls back to; `heard` takes
    the server's events, and `last_heard` says where to go on after; `turned` is told when it comes and goes, `refresh`
    looks whether the database knows more, and `overtake` makes a generation greater than one that a server was found
    ahead with, if `precedence` allows it. `leadership` says whether that is this replica's work; `shared`,
    whether there may be others."""

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
        leadership: Leadership,
        *,
        shared: bool,
    ) -> None:
        super().__init__()
        self.name = name
        self.client = client
        self.error = "not reached yet"
        self.generation: int | None = None
        self._rules, self._on_trial = current, on_trial
        self._heard, self._turned = heard, turned
        self._last_heard, self._refresh, self._overtake = last_heard, refresh, overtake
        self._precedence, self._leadership, self._shared = precedence, leadership, shared
        self._expected = asyncio.Event()
        self._led = False
        self._latest: Receipt | None = None
        self._started_at = ""
        self._seen = 0
        self._busy = False

    def _current(self) -> RuleSet:
        """The rule set as it is now, as far as the route server can be told of it."""
        return self.client.understood(self._rules())

    def expect(self) -> None:
        """Another replica has made a change, and sends it."""
        self._expected.set()

    async def run(self) -> None:
        """Works until cancelled."""
        try:
            while True:
                try:
                    self._led = self._leadership.leading
                    await (self._catch_up() if self._led else self._look())
                    await self._stay_in_step()
                except HandedOver:
                    continue
                except (Unreachable, Held) as error:
                    await self._away(str(error))
                except Unavailable as error:
                    await self._away(f"the database cannot say what is right: {error}")
                except (OtherGeneration, RefusedByRouteServer) as error:
                    await self._away(f"refuses the rule set: {error}")
                await asyncio.sleep(RETRY)
        finally:
            self.reachable = False
            self.empty()

    async def _catch_up(self) -> None:
        """Confirms what the server has if it is the current rule set, and replaces it if not."""
        await self._precedence.begin(self._leadership.term)
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
        await self._in_step(found.generation)

    async def _look(self) -> None:
        """Another replica brings the route server up to date; this one sees whether it is."""
        status = await self.client.status()
        self._started_at = str(status.get("started_at"))
        for _ in range(LOOKS):
            found = await self.client.rule_set()
            await self._refresh()
            if found == self._current():
                break
            await asyncio.sleep(GRACE / LOOKS)
        else:
            raise Held(f"it is at generation {found.generation}; the replica that leads brings it up to date")
        if held := await self._precedence.held():
            raise Held(held)
        await self._in_step(found.generation)

    async def _in_step(self, generation: int) -> None:
        was, self.generation, self.reachable, self.error = self.reachable, generation, True, ""
        if not was:
            await self._turned(self.name, True, "")

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
        work = [self._serve(), self._keep_in_touch()]
        if self._led:
            work.append(self._follow())
        if self._shared:
            work += [self._see_to_it(), self._hand_over()]
        try:
            await task_group(*work)
        except (OtherGeneration, RefusedByRouteServer) as error:
            raise Unreachable(str(error)) from None

    async def _serve(self) -> None:
        while True:
            match await self.queue.get():
                case Sending(change, within, receipt):
                    self.unsent -= 1
                    await self._answer(receipt, self._bring(change, within), None)
                case Confirming(generation, done):
                    await self._answer(done, self._confirm(generation), False)
                case Asking(generation, receipt):
                    await self._answer(receipt, self._asked(generation), None)
                case Checking():
                    await self._check()
                case Handover():
                    raise HandedOver

    async def _hand_over(self) -> None:
        """Between two changes, when it is time to."""
        await self._leadership.other_than(self._led)
        self.queue.put_nowait(Handover())
        await asyncio.Event().wait()

    async def _see_to_it(self) -> None:
        """The leader looks whether what others have made has come."""
        while True:
            await self._expected.wait()
            await asyncio.sleep(GRACE)
            self._expected.clear()
            if self._led:
                self.queue.put_nowait(Checking())

    async def _answer(self, future: asyncio.Future[T], work: Awaitable[T], otherwise: T) -> None:
        """The outcome of the work, or what is said when there is none."""
        self._busy = True
        try:
            outcome = await work
        except BaseException:
            resolve(future, otherwise)
            raise
        finally:
            self._busy = False
        resolve(future, outcome)

    async def _keep_in_touch(self) -> None:
        """Repeats the generation, beside the changes: an answer that one of them has overtaken says nothing."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            if self._shared:
                self.queue.put_nowait(Checking())
                continue
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

    async def _check(self) -> None:
        """A replica that cannot ask the database what is right says nothing. One that has changes to send looks later:
        they may be what is missing."""
        for look in range(LOOKS):
            if self.unsent:
                return
            try:
                await self._refresh()
            except Unavailable:
                return
            wanted = self._current().generation
            try:
                await self.client.heartbeat(wanted)
            except RefusedByRouteServer:
                return  # a release that does not listen for it
            except OtherGeneration as other:
                found, refusal = other.found, other
            else:
                self._known(wanted)
                return
            if found > wanted and look > LOOKS // 2:
                raise refusal  # nobody who works with this database has sent that
            if found < wanted:
                await asyncio.sleep(GRACE / LOOKS)
        if not self._led:
            raise Unreachable(f"it is at generation {found}; the replica that leads brings it up to date")
        await self._all()

    async def _all(self) -> Receipt:
        """Sends everything there is."""
        rules = self._current()
        receipt = await self._replace(rules)
        self.generation, self._latest = rules.generation, receipt
        return receipt

    def _known(self, generation: int) -> None:
        """It is there, by whomever it was sent."""
        if self.generation != generation:
            self.generation, self._latest = generation, None

    async def _confirm(self, generation: int) -> bool:
        await self.client.confirm(generation)
        return True

    async def _bring(self, change: Change, within: int | None) -> Receipt | None:
        if not change.dry_run and self.generation is not None and change.generation <= self.generation:
            return self._latest or await self._overtaken(
                change.base
            )  # it went with a whole rule set that was sent since
        try:
            receipt = await self._change(change, within)
        except (OtherGeneration, RefusedByRouteServer, Unreachable) as error:
            if change.dry_run and (self._shared or not isinstance(error, OtherGeneration)):
                return None
            if isinstance(error, OtherGeneration) and self._shared and error.found >= change.generation:
                self._known(error.found)
                return await self._overtaken(change.base)
            log.warning("%s: %s; sending the whole rule set", self.name, error)
            if self._shared:
                await self._refresh()
            receipt = await self._all()
            return None if change.dry_run else receipt
        if not change.dry_run:
            self.generation, self._latest = change.generation, receipt
        return receipt

    async def _change(self, change: Change, within: int | None) -> Receipt:
        """Waits a moment for a base that another replica has made."""
        if not self._shared and change.base != self.generation:
            raise OtherGeneration(f"{self.name} is at {self.generation}")
        until = time.monotonic() + GRACE
        while True:
            try:
                return await self.client.change(change, within)
            except OtherGeneration as error:
                if not self._shared or error.found > change.base or time.monotonic() > until:
                    raise
            await asyncio.sleep(GRACE / 50)

    async def _asked(self, generation: int) -> Receipt | None:
        if self._shared:
            await self._check()
        receipt = await self._overtaken(generation - 1)
        return receipt if receipt.generation >= generation else None

    async def _overtaken(self, base: int) -> Receipt:
        """Another replica has sent it with everything else. What has become of it there the route server can say."""
        status = await self.client.status()
        behind = [str(session["peer"]) for session in status.get("sessions") or [] if session.get("backlog")]
        return Receipt(
            route_server=self.name,
            generation=int(status["generation"]),
            previous=base,
            announced=0,
            withdrawn=0,
            peers=[PeerReceipt(peer=peer, announced=0, withdrawn=0, written_us=None) for peer in behind],
            duration_us=0,
        )

    async def _follow(self) -> None:
        async for event in self.client.events(self._seen):
            await self._heard(self.name, self._started_at, event)
            self._seen = max(self._seen, event.number)

    async def _away(self, reason: str) -> None:
        was, self.reachable, self.generation, self.error = self.reachable, False, None, reason
        self.empty()
        if was:
            log.warning("%s is away: %s", self.name, reason)
            await self._turned(self.name, False, reason)


def _ahead(found: RuleSet, wanted: RuleSet) -> bool:
    return found != wanted and found.generation >= wanted.generation
