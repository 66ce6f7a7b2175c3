"""The change flow: one transaction, then all route servers and all concerned agents at the same time.

Changes are made one after the other, in the order of their generations. Waiting for their effect is outside of this
order, so a slow agent delays only the caller of its own change."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.agents.registry import Agents
from controller.auth.audit_context import AUDIT_CONTEXT, CONTROLLER, acts
from controller.changes.interrupted import interrupted_by
from controller.changes.outcomes import AgentOutcome, ChangeResult
from controller.changes.policies import Policies
from controller.changes.waiting import Sent, Waiting, ms, parted
from controller.core import filters
from controller.core.changed_names import touched
from controller.core.clock import now
from controller.core.consents import without_held
from controller.core.desired import Fabric, tunnels
from controller.core.intent import Intent
from controller.core.numbering import numbered
from controller.core.persistent_map import changed
from controller.core.refusals import Refused, conflict
from controller.core.rulesets import rule_set
from controller.core.trials import Trial, altered, refuse_on
from controller.db import events, generations, intents, revisions
from controller.db.engine import Database, Lock, alone
from controller.db.generations import ChangeState, GenerationRow
from controller.db.withdrawals import withdraw
from controller.replication.replicas import Replicas
from controller.routeservers.queue import RulesOnTrial
from controller.routeservers.sync import RouteServerSync
from controller.runtime.idempotency import ONCE
from controller.runtime.wakeup import Wakeup
from controller.wire import tracing
from controller.wire.rulesets import Change, Operation, RuleSet

log = logging.getLogger(__name__)

LATE = "nobody confirmed it in time"

Edit = Callable[[Intent], Intent]
Also = Callable[[AsyncSession, Intent], Awaitable[None]]
Guard = Callable[[AsyncSession], Awaitable[None]]


class Changes:
    """Holds the intent, and is the only one to change it in this process. With several replicas, only one makes a
    change at a time, and it takes over the changes of the others first."""

    def __init__(
        self, database: Database, agents: Agents, fabric: Fabric, waiting: Waiting, events: Wakeup, replicas: Replicas
    ) -> None:
        speakers = {speaker.name: speaker.address for speaker in fabric.speakers}
        self.intent = Intent(route_servers=speakers, enrolled_only=fabric.enrolled_only)
        self.trial: Trial | None = None
        self.route_servers: list[RouteServerSync] = []
        self.waiting = waiting
        self.policies = Policies()
        self._database, self._agents, self._fabric = database, agents, fabric
        self._events, self._replicas = events, replicas
        self._revision, self._loaded = 0, False
        self._turn = asyncio.Lock()
        replicas.look.append(self.refresh)
        self._rules: RuleSet | None = None
        self._fingerprint = ""

    def rules(self) -> RuleSet:
        """Return the whole rule set at the current generation."""
        if self._rules is None or self._rules.generation != self.intent.generation:
            self._rules = rule_set(self.intent, self._fabric.asn)
        return self._rules

    def on_trial(self) -> RulesOnTrial | None:
        """Return the rules that the running trial falls back to and its remaining time; None if there is no trial."""
        if (trial := self.trial) is None:
            return None
        before = trial.fallback(self.intent).but(generation=trial.base)
        return RulesOnTrial(rule_set(before, self._fabric.asn), trial.seconds(now()))

    async def start(self, fingerprint: str) -> None:
        """Read the intent. A new region, or one whose desired states were made with another AS number or other route
        servers, gets a new generation in which every desired state is new. A trial whose time is over ends here, before
        it is sent to anyone again."""
        self._fingerprint = fingerprint
        async with self._turn, self._changing() as session:
            other = await self._other_settings(session)
        if self.trial and (other or self.trial.seconds(now()) <= 0):
            with suppress(Refused):  # another replica was quicker
                await self.retract(self.trial.generation, "the controller has other settings now" if other else LATE)
        async with self._turn:
            async with self._changing() as session:
                renewed = self.intent
                if other := await self._other_settings(session):
                    renewed = await self._renewed(session, self.intent.generation + 1, "other settings")
            if other:
                self._made(renewed)

    async def _other_settings(self, session: AsyncSession) -> bool:
        latest = await generations.current(session)
        return latest is None or latest.fabric != self._fingerprint

    @asynccontextmanager
    async def _changing(self, cause: str = "") -> AsyncIterator[AsyncSession]:
        """Open a transaction in which the intent is that of the database and no other replica changes it. `cause` is
        the reason of a change that the controller makes by itself."""
        with acts(CONTROLLER, "change", cause):
            async with self._database.write() as session:
                await alone(session, Lock.CHANGE)
                await self._take_over(session)
                yield session

    async def refresh(self) -> None:
        """Take over the changes of other replicas."""
        async with self._turn, self._database.read() as session:
            await self._take_over(session)

    async def _take_over(self, session: AsyncSession) -> None:
        """Set the intent to that of the database, and inform the agents that are connected here."""
        latest, new = await revisions.since(session, self._revision)
        if latest == self._revision and new is not None and self._loaded:
            return
        old = self.intent
        if new is None or not self._loaded:
            intent, self._rules = await intents.load(session), None
            policy = (await self.policies.load(session)).rules
            settings = {"route_servers": old.route_servers, "enrolled_only": old.enrolled_only}
            self.intent = intent.but(policy=policy, **settings).ready()
        else:
            self.intent = await intents.take_over(session, old, new)
        self.trial = await generations.on_trial(session)
        self._revision, self._loaded = latest, True
        for name in changed(old.cloudlets, self.intent.cloudlets):
            before, after = old.cloudlets.get(name), self.intent.cloudlets.get(name)
            if after is None:
                self._agents.forget(name)
            elif before is None or before.version != after.version or before.credential != after.credential:
                self._agents.publish(name, after.version, tunnels(self.intent, name))
        self._filter_anew(old)
        if self.intent.generation != old.generation:
            for server in self.route_servers:
                server.expect()
        self._events.ring_here()

    async def _record(self, session: AsyncSession, old: Intent, new: Intent) -> None:
        """Record the effect of a transaction on the intent or on the trial, and tell the other replicas."""
        revisions.add(session, self._revision + 1, touched(old, new))
        await self._replicas.say(session, "intent")

    def _made(self, new: Intent) -> None:
        """Take over the new intent after its transaction is committed."""
        old, self.intent = self.intent, new
        self._revision += 1
        self._filter_anew(old)

    def _filter_anew(self, old: Intent) -> None:
        for name in filters.concerned(old, self.intent):
            self._agents.wake(name)

    async def renew(self, above: int) -> None:
        """Make a generation greater than `above` in which every desired state is new, and send it out. It is needed
        when a route server is ahead of the database, which therefore is an old copy. A trial in such a copy is rolled
        back first."""
        if self.trial:
            await self.retract(self.trial.generation, "the database is an old copy")
        async with self._turn:
            async with self._changing() as session:
                old = self.intent
                number = max(old.generation, above) + 1
                new = await self._renewed(session, number, f"a route server was at generation {above}")
            self._made(new)
            self._send(old, new, [], frozenset(new.cloudlets))

    async def _renewed(self, session: AsyncSession, number: int, cause: str) -> Intent:
        cloudlets = {name: replace(c, version=number) for name, c in self.intent.cloudlets.items()}
        renewed = replace(self.intent, generation=number, cloudlets=cloudlets)
        session.add(GenerationRow(number=number, cause=cause, fabric=self._fingerprint))
        await intents.save(session, self.intent, renewed)
        await self._record(session, self.intent, renewed)
        return renewed

    async def apply(
        self,
        edit: Edit,
        cause: str,
        also: Also | None = None,
        guard: Guard | None = None,
        within: int | None = None,
        *,
        dry_run: bool = False,
    ) -> ChangeResult:
        """Make a change and wait until it is in force, or until the agents' time is over. In the same transaction,
        `guard` may refuse before the change and `also` does further work after it. `within` puts the change on trial
        for that many seconds, if it concerns pools or the policy, or alters cloudlets or endpoints. A dry run raises
        the refusals of a real run, asks the route servers for the effect of the change, and changes nothing. Raises
        Refused, and then nothing has changed."""
        started = time.monotonic()
        if dry_run:
            return await self._rehearse(edit, guard, within, started)
        with tracing.span("change", {"weft.cause": cause[:200]}):
            return await self.waiting.outcome(await self.make(edit, cause, also, guard, within), started)

    async def make(
        self, edit: Edit, cause: str, also: Also | None = None, guard: Guard | None = None, within: int | None = None
    ) -> Sent:
        """Make a change and send it out, without waiting for its effect. The change completes even if the caller is
        cancelled."""
        return await asyncio.shield(self._make(edit, cause, also, guard, within))

    async def confirm(self, number: int) -> ChangeResult:
        """End a trial and keep the change. Raises Refused if the change is not on trial, or no longer."""
        started = time.monotonic()
        answers = await asyncio.shield(self._confirm(number))
        await self.waiting.until(answers.values(), started)
        unreachable = [name for name, answer in answers.items() if not (answer.done() and answer.result())]
        return ChangeResult(
            generation=number,
            in_force=not unreachable,
            duration_ms=ms(started, time.monotonic()),
            unreachable=unreachable,
        )

    async def _confirm(self, number: int) -> dict[str, asyncio.Future[bool]]:
        once = ONCE.get()
        if once is not None and once.made is not None:
            return {server.name: server.confirm(number) for server in self.route_servers}
        async with self._turn:
            async with self._changing() as session:
                await generations.settle(session, number, ChangeState.CONFIRMED)
                if self.trial and self.trial.generation == number and self.trial.seconds(now()) <= 0:
                    raise conflict(f"the time to confirm change {number} is over; it is being rolled back")
                if once is not None:
                    await once.note(session, number)
                await self._record(session, self.intent, self.intent)
                await events.add(session, "change-confirmed", str(number), f"change {number} was confirmed")
            self._made(self.intent)
            self.trial = None
            self._events.ring()
            return {server.name: server.confirm(number) for server in self.route_servers}

    async def roll_back(self, number: int, why: str) -> ChangeResult:
        """End a trial and put the previous state in force again, in a new generation. Raises Refused if the change is
        not on trial, or no longer."""
        started = time.monotonic()
        return await self.waiting.outcome(await asyncio.shield(self.retract(number, why)), started)

    async def retract(self, number: int, why: str) -> Sent:
        """Roll a change back as `roll_back` does, without waiting for the effect."""

        rules = self.intent.policy

        async def guard(session: AsyncSession) -> None:
            nonlocal rules
            await generations.settle(session, number, ChangeState.ROLLED_BACK)
            rules = (await self.policies.without(session, number)).rules

        async def also(session: AsyncSession, intent: Intent) -> None:
            await withdraw(session, number)
            text = f"change {number} was rolled back by generation {intent.generation}: {why}"
            await events.add(session, "change-rolled-back", str(number), text, generation=intent.generation)

        def edit(intent: Intent) -> Intent:
            return without_held((self.trial.fallback(intent) if self.trial else intent).but(policy=rules))

        return await self._make(edit, f"roll back {number}: {why}", also, guard, None, settles=True)

    async def _rehearse(self, edit: Edit, guard: Guard | None, within: int | None, started: float) -> ChangeResult:
        async with self._turn:
            async with self._database.read() as session:
                await self._take_over(session)
                old = self.intent
                if guard is not None:
                    await guard(session)
                edited, steps = await self.policies.follow(session, old, edit(old))
                interrupted = await interrupted_by(session, old, edited)
            if within is not None:
                altered(old, edited)  # raises Refused
            new, ops, who = numbered(old, edited, self._fabric.asn)
            refuse_on(self.trial, old, new)
            change = Change(base=old.generation, generation=new.generation, ops=ops, dry_run=True)
            servers = self.route_servers if new.generation != old.generation else []
            receipts_to_come = {server.name: server.submit(change) for server in servers}
            managed, unmanaged = parted(new, who)
            sent = Sent(new.generation, receipts_to_come, managed, unmanaged=unmanaged)
        receipts = await self.waiting.receipts(sent, started)
        return ChangeResult(
            generation=sent.generation,
            in_force=False,
            duration_ms=ms(started, time.monotonic()),
            route_servers=[r for r in receipts.values() if r is not None],
            unreachable=[name for name, r in receipts.items() if r is None],
            agents=[AgentOutcome(cloudlet=name, confirmed=False) for name in sent.cloudlets],
            unmanaged=list(sent.unmanaged),
            dry_run=True,
            followed=steps,
            interrupted=list(interrupted),
        )

    async def _make(
        self,
        edit: Edit,
        cause: str,
        also: Also | None,
        guard: Guard | None,
        within: int | None,
        *,
        settles: bool = False,
    ) -> Sent:
        once = ONCE.get()
        if once is not None and once.made is not None and not once.done:
            once.done = True
            return await self._sent_before(once.made)
        async with self._turn:
            try:
                async with self._changing(cause) as session:
                    if guard is not None:
                        await guard(session)
                    old = self.intent
                    edited, steps = edit(old), None
                    if not settles:  # a fallback already follows its policy
                        edited, steps = await self.policies.follow(session, old, edited)
                    other = edited.policy is not old.policy
                    former = altered(old, edited) if within is not None else {}
                    tried = within is not None and (other or edited.vcps != old.vcps or any(former.values()))
                    interrupted = await interrupted_by(session, old, edited)
                    new, ops, who = numbered(old, edited, self._fabric.asn, anyway=tried or settles or other)
                    if not settles:
                        refuse_on(self.trial, old, new)
                    trial = None
                    if new.generation != old.generation:
                        row = GenerationRow(number=new.generation, cause=cause[:400], fabric=self._fingerprint)
                        if tried and within is not None:
                            confirm_by = now() + timedelta(seconds=within)
                            trial = Trial(new.generation, old.generation, confirm_by, old.vcps, **former)
                            generations.begin(row, trial)
                        session.add(row)
                    await intents.save(session, old, new)
                    if acting := AUDIT_CONTEXT.get():
                        acting.intent(old, new)
                    if also is not None:
                        await also(session, new)
                    if steps is not None and (said := steps.sentence()):
                        await events.add(session, "policy-followed", cause, f"{cause}: by the policy, {said}")
                    if once is not None:
                        await once.note(session, new.generation)
                    if new is not old or settles:
                        await self._record(session, old, new)
            except IntegrityError as error:
                log.warning("%s: refused by a constraint: %s", cause, error.orig)
                raise conflict("another request has just taken a name, number or address of this one") from error
            if new is not old or settles:
                self._made(new)
            for name in changed(old.cloudlets, new.cloudlets):
                there = new.cloudlets.get(name)
                if there is None or there.credential != (was.credential if (was := old.cloudlets.get(name)) else None):
                    self._agents.cut(name)
            if trial or settles:
                self.trial = trial
            self._events.ring()
            return replace(self._send(old, new, ops, who), followed=steps, interrupted=interrupted)

    async def _sent_before(self, number: int) -> Sent:
        """Return a change that an earlier attempt of this request made, as if it were sent now. The replica that made
        it died before it learned the effect."""
        await self.refresh()
        receipts = {server.name: server.ask(number) for server in self.route_servers}
        who = (name for name, cloudlet in self.intent.cloudlets.items() if cloudlet.version == number)
        managed, unmanaged = parted(self.intent, who)
        confirm_by = self.trial.confirm_by if self.trial and self.trial.generation == number else None
        return Sent(number, receipts, managed, confirm_by, unmanaged=unmanaged)

    def _send(self, old: Intent, new: Intent, ops: list[Operation], who: frozenset[str]) -> Sent:
        if new.generation == old.generation:
            return Sent(new.generation, {}, ())
        change = Change(base=old.generation, generation=new.generation, ops=ops)
        trial = self.on_trial()
        receipts = {server.name: server.submit(change, trial) for server in self.route_servers}
        for name in who:
            if name not in new.cloudlets:
                self._agents.forget(name)
        managed, unmanaged = parted(new, who)
        for name in managed:
            self._agents.publish(name, new.generation, tunnels(new, name))
        confirm_by = self.trial.confirm_by if self.trial else None
        return Sent(new.generation, receipts, managed, confirm_by, unmanaged=unmanaged)
