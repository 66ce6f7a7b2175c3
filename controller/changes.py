"""The change flow: one transaction, then all route servers and all concerned agents at the same time.

Changes are made one after the other, in the order of their generations; waiting for what they do is not part of that,
so a slow agent holds back nobody but the caller of its own change.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.agents import Agents
from controller.bell import Bell
from controller.core.desired import Fabric, tunnels
from controller.core.intent import Intent, concerned
from controller.core.refusals import Refused, conflict
from controller.core.rulesets import operations, rule_set
from controller.core.trials import OnTrial, Trial
from controller.db import events, generations, intents, policies
from controller.db.base import now
from controller.db.engine import Database
from controller.db.generations import GenerationRow, State
from controller.outcomes import AgentOutcome, ChangeResult
from controller.propagation import Propagation, RulesOnTrial
from controller.wire.rulesets import Change, Operation, Receipt, RuleSet

log = logging.getLogger(__name__)

LATE = "nobody confirmed it in time"

Edit = Callable[[Intent], Intent]
Also = Callable[[AsyncSession, Intent], Awaitable[None]]
Guard = Callable[[AsyncSession], Awaitable[None]]


@dataclass(frozen=True)
class Sent:
    """A change on its way: receipts to come by route server, and the cloudlets whose agents have to confirm."""

    generation: int
    receipts: dict[str, asyncio.Future[Receipt | None]]
    cloudlets: tuple[str, ...]
    confirm_by: datetime | None = None


class Changes:
    """Holds the intent, and is the only one to change it."""

    def __init__(self, database: Database, agents: Agents, fabric: Fabric, timeout: float, events: Bell) -> None:
        self.intent = Intent()
        self.trial: Trial | None = None
        self.route_servers: list[Propagation] = []
        self.stopping = asyncio.Event()
        self.observe: Callable[[float], None] = lambda seconds: None
        self._database, self._agents, self._fabric, self._timeout = database, agents, fabric, timeout
        self._events = events
        self._turn = asyncio.Lock()
        self._rules: RuleSet | None = None
        self._fingerprint = ""

    def rules(self) -> RuleSet:
        """The whole rule set at the current generation."""
        if self._rules is None or self._rules.generation != self.intent.generation:
            self._rules = rule_set(self.intent, self._fabric.asn)
        return self._rules

    def on_trial(self) -> RulesOnTrial | None:
        """What the route servers have to know of the trial that is on."""
        if (trial := self.trial) is None:
            return None
        before = trial.fallback(self.intent).but(generation=trial.base)
        return RulesOnTrial(rule_set(before, self._fabric.asn), trial.seconds(now()))

    async def start(self, fingerprint: str) -> None:
        """Reads the intent. A region that is new, or that has another AS number or other route servers than when its
        desired states were made, gets a new generation in which every desired state is new. A trial whose time is over
        ends here, before anybody is told of it again."""
        async with self._database.write() as session:
            await self._load(session)
            latest = await generations.current(session)
        self._fingerprint = fingerprint
        other = latest is None or latest.fabric != fingerprint
        if self.trial and (other or self.trial.seconds(now()) <= 0):
            await self.retract(self.trial.generation, "the controller has other settings now" if other else LATE)
        if other:
            async with self._database.write() as session:
                renewed = await self._renewed(session, self.intent.generation + 1, "other settings")
            self.intent = renewed

    async def _load(self, session: AsyncSession) -> None:
        self.intent, self.trial = await intents.load(session), await generations.on_trial(session)

    async def refresh(self) -> None:
        """Reads the intent again if the database is at another generation: somebody else has changed it."""
        async with self._turn, self._database.read() as session:
            if await generations.number(session) != self.intent.generation:
                await self._load(session)

    async def renew(self, above: int) -> None:
        """Makes a generation greater than `above` in which every desired state is new, and sends it out: a route server
        was found ahead of the database, which therefore is an old copy. What such a copy has on trial is not to be."""
        if self.trial:
            await self.retract(self.trial.generation, "the database is an old copy")
        async with self._turn:
            async with self._database.write() as session:
                old = self.intent
                number = max(old.generation, above) + 1
                new = await self._renewed(session, number, f"a route server was at generation {above}")
            self.intent = new
            self._send(old, new, [], frozenset(new.cloudlets))

    async def _renewed(self, session: AsyncSession, number: int, cause: str) -> Intent:
        cloudlets = {name: replace(c, version=number) for name, c in self.intent.cloudlets.items()}
        renewed = replace(self.intent, generation=number, cloudlets=cloudlets)
        session.add(GenerationRow(number=number, cause=cause, fabric=self._fingerprint))
        await intents.save(session, self.intent, renewed)
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
        """Makes a change and waits until it is in force, or until the agents' time is over. In the same transaction,
        `guard` may refuse before and `also` do further work after. `within` puts it on trial for so many seconds. A dry
        run refuses what would be refused, asks the route servers what the change would do, and does nothing. Raises
        Refused, and then nothing has changed."""
        started = time.monotonic()
        if dry_run:
            return await self._rehearse(edit, guard, started)
        return await self._outcome(await self.make(edit, cause, also, guard, within), started)

    async def make(
        self, edit: Edit, cause: str, also: Also | None = None, guard: Guard | None = None, within: int | None = None
    ) -> Sent:
        """Makes a change, sends it out, and does not wait for what it does. A caller that goes away does not stop it
        half-way."""
        return await asyncio.shield(self._make(edit, cause, also, guard, within))

    async def confirm(self, number: int) -> ChangeResult:
        """Ends a trial: the change is there to stay. Raises Refused if it is not on trial, or not any more."""
        started = time.monotonic()
        answers = await asyncio.shield(self._confirm(number))
        await self._until(list(answers.values()), started + self._timeout)
        unreachable = [name for name, answer in answers.items() if not (answer.done() and answer.result())]
        return ChangeResult(
            generation=number,
            in_force=not unreachable,
            duration_ms=_ms(started, time.monotonic()),
            unreachable=unreachable,
        )

    async def _confirm(self, number: int) -> dict[str, asyncio.Future[bool]]:
        async with self._turn:
            async with self._database.write() as session:
                await self._settle(session, number, State.CONFIRMED)
                if self.trial and self.trial.generation == number and self.trial.seconds(now()) <= 0:
                    raise conflict(f"the time to confirm change {number} is over; it is being rolled back")
                await events.add(session, "change-confirmed", str(number), f"change {number} was confirmed")
            self.trial = None
            self._events.ring()
            return {server.name: server.confirm(number) for server in self.route_servers}

    async def roll_back(self, number: int, why: str) -> ChangeResult:
        """Ends a trial: what there was before is in force again, in a generation of its own. Raises Refused if the
        change is not on trial, or not any more."""
        started = time.monotonic()
        return await self._outcome(await asyncio.shield(self.retract(number, why)), started)

    async def retract(self, number: int, why: str) -> Sent:
        """As `roll_back`, and does not wait for what it does."""

        async def guard(session: AsyncSession) -> None:
            await self._settle(session, number, State.ROLLED_BACK)

        async def also(session: AsyncSession, intent: Intent) -> None:
            await policies.withdraw(session, number)
            text = f"change {number} was rolled back by generation {intent.generation}: {why}"
            await events.add(session, "change-rolled-back", str(number), text, generation=intent.generation)

        def edit(intent: Intent) -> Intent:
            return self.trial.fallback(intent) if self.trial else intent

        return await self._make(edit, f"roll back {number}: {why}", also, guard, None, settles=True)

    async def _settle(self, session: AsyncSession, number: int, state: State) -> None:
        try:
            await generations.settle(session, number, state)
        except Refused:
            if self.trial and self.trial.generation == number:
                self.trial = None  # another controller on this database settled it
            raise

    async def _rehearse(self, edit: Edit, guard: Guard | None, started: float) -> ChangeResult:
        async with self._turn:
            if guard is not None:
                async with self._database.read() as session:
                    await guard(session)
            old = self.intent
            new, ops, who = self._numbered(old, edit(old))
            self._refuse_on_trial(old, new)
            change = Change(base=old.generation, generation=new.generation, ops=ops, dry_run=True)
            servers = self.route_servers if new.generation != old.generation else []
            receipts_to_come = {server.name: server.submit(change) for server in servers}
            sent = Sent(new.generation, receipts_to_come, tuple(sorted(who & new.cloudlets.keys())))
        receipts = await self._receipts(sent, started + self._timeout)
        return ChangeResult(
            generation=sent.generation,
            in_force=False,
            duration_ms=_ms(started, time.monotonic()),
            route_servers=[r for r in receipts.values() if r is not None],
            unreachable=[name for name, r in receipts.items() if r is None],
            agents=[AgentOutcome(cloudlet=name, confirmed=False) for name in sent.cloudlets],
            dry_run=True,
        )

    def _refuse_on_trial(self, old: Intent, new: Intent) -> None:
        """What has nothing to do with pools, route servers or agents goes on; all else would be built on the trial."""
        if self.trial and (new.generation != old.generation or new.vcps != old.vcps):
            raise OnTrial(self.trial)

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
        async with self._turn:
            try:
                async with self._database.write() as session:
                    if await generations.number(session) != self.intent.generation:
                        await self._load(session)
                    if guard is not None:
                        await guard(session)
                    old = self.intent
                    edited = edit(old)
                    tried = within is not None and edited.vcps != old.vcps
                    new, ops, who = self._numbered(old, edited, anyway=tried or settles)
                    if not settles:
                        self._refuse_on_trial(old, new)
                    trial = None
                    if new.generation != old.generation:
                        row = GenerationRow(number=new.generation, cause=cause[:400], fabric=self._fingerprint)
                        if tried and within is not None:
                            confirm_by = now() + timedelta(seconds=within)
                            trial = Trial(new.generation, old.generation, confirm_by, old.vcps)
                            generations.begin(row, trial)
                        session.add(row)
                    await intents.save(session, old, new)
                    if also is not None:
                        await also(session, new)
            except IntegrityError as error:
                log.warning("%s: refused by a constraint: %s", cause, error.orig)
                raise conflict("somebody else has just taken a name, number or address of this request") from error
            self.intent = new
            if trial or settles:
                self.trial = trial
            self._events.ring()
            return self._send(old, new, ops, who)

    def _numbered(
        self, old: Intent, new: Intent, *, anyway: bool = False
    ) -> tuple[Intent, list[Operation], frozenset[str]]:
        """The next generation, if the edit makes a difference to a route server or an agent, or `anyway`."""
        ops, who = operations(old, new, self._fabric.asn), concerned(old, new)
        if not ops and not who and not anyway:
            return new, [], who
        number = old.generation + 1
        cloudlets = dict(new.cloudlets)
        for name in who & cloudlets.keys():
            cloudlets[name] = replace(cloudlets[name], version=number)
        return new.but(generation=number, cloudlets=cloudlets), ops, who

    def _send(self, old: Intent, new: Intent, ops: list[Operation], who: frozenset[str]) -> Sent:
        if new.generation == old.generation:
            return Sent(new.generation, {}, ())
        change = Change(base=old.generation, generation=new.generation, ops=ops)
        trial = self.on_trial()
        receipts = {server.name: server.submit(change, trial) for server in self.route_servers}
        for name in who - new.cloudlets.keys():
            self._agents.forget(name)
        there = tuple(sorted(who & new.cloudlets.keys()))
        for name in there:
            self._agents.publish(name, new.generation, tunnels(new, name))
        return Sent(new.generation, receipts, there, self.trial.confirm_by if self.trial else None)

    async def _outcome(self, sent: Sent, started: float) -> ChangeResult:
        deadline = started + self._timeout
        connected = [name for name in sent.cloudlets if self._agents.of(name).connected]
        receipts, times = await asyncio.gather(
            self._receipts(sent, deadline), self._confirmations(sent, connected, deadline)
        )
        finished = time.monotonic()
        agents = [
            AgentOutcome(cloudlet=name, confirmed=True, after_ms=_ms(started, times[name]))
            if name in times
            else AgentOutcome(cloudlet=name, confirmed=False)
            for name in sent.cloudlets
        ]
        unreachable = [name for name, receipt in receipts.items() if receipt is None]
        given = [receipt for receipt in receipts.values() if receipt is not None]
        behind = {line.peer for receipt in given for line in receipt.peers if line.written_us is None} - times.keys()
        if sent.receipts or sent.cloudlets:
            self.observe(finished - started)
        return ChangeResult(
            generation=sent.generation,
            in_force=not unreachable and not behind and all(agent.confirmed for agent in agents),
            duration_ms=_ms(started, finished),
            route_servers=given,
            unreachable=unreachable,
            agents=agents,
            behind=sorted(behind),
            confirm_by=sent.confirm_by,
        )

    async def _receipts(self, sent: Sent, deadline: float) -> dict[str, Receipt | None]:
        await self._until(list(sent.receipts.values()), deadline)
        return {name: f.result() if f.done() else None for name, f in sent.receipts.items()}

    async def _confirmations(self, sent: Sent, connected: list[str], deadline: float) -> dict[str, float]:
        tasks = {name: asyncio.ensure_future(self._agents.confirmed(name, sent.generation)) for name in connected}
        try:
            await self._until(list(tasks.values()), deadline)
            return {name: task.result() for name, task in tasks.items() if task.done()}
        finally:
            for task in tasks.values():
                task.cancel()

    async def _until(self, futures: Iterable[asyncio.Future[Any]], deadline: float) -> None:
        """Waits for all, but not beyond the deadline, nor when the controller stops."""
        pending = {future for future in futures if not future.done()}
        stop = asyncio.ensure_future(self.stopping.wait())
        try:
            while pending and not stop.done() and (left := deadline - time.monotonic()) > 0:
                done, _ = await asyncio.wait({*pending, stop}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                pending -= done
        finally:
            stop.cancel()


def _ms(started: float, at: float) -> float:
    return round((at - started) * 1000, 3)
